#!/usr/bin/env python3
"""Loads the library into a running program, as Python does: alone, after torch and before torch.

glibc has a small reserve of memory for the thread_local variables of libraries that are loaded at run time, and torch uses
part of it. Our share is at most 512 bytes, and none of our code may read a thread_local of another library as if that
library had been there from the start.
"""
import argparse
import os
import re
import subprocess
import sys

MAX_BYTES = 512

ORDERS = {
    "alone": "load()",
    "after torch": "import torch; load(); print(torch.ones(2).sum().item())",
    "before torch": "load(); import torch; print(torch.ones(2).sum().item())",
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def thread_local_bytes(library):
    """The size in memory of the library's segment of thread_local variables."""
    segments = [line.split() for line in output_of("readelf", "-lW", library).splitlines() if line.split()[:1] == ["TLS"]]
    return sum(int(segment[5], 16) for segment in segments)


def foreign_variables(library):
    """thread_local variables of other libraries that are read at a fixed offset from the thread pointer."""
    return [line for line in output_of("readelf", "-rW", library).splitlines()
            if re.search(r"R_X86_64_TPOFF64\s+0+ \S", line)]


def failure_of(python, order, library):
    program = f"import ctypes\ndef load(): return ctypes.CDLL({library!r})\n{ORDERS[order]}"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libpellucid.so")
    parser.add_argument("--torch", help="a Python that has torch")
    args = parser.parse_args()

    failures = []
    size = thread_local_bytes(args.library)
    print(f"thread_local variables: {size} bytes, at most {MAX_BYTES} allowed")
    if not 0 < size <= MAX_BYTES:
        failures.append(f"the library has {size} bytes of thread_local variables; use thread_object() for caches")
    failures += [f"a thread_local of another library is read directly: {line}" for line in foreign_variables(args.library)]
    for order in ORDERS:
        python = sys.executable if order == "alone" else args.torch
        if not (python and os.path.exists(python)):
            print(f"loads {order}: not tried, because torch is not installed")
            continue
        failure = failure_of(python, order, args.library)
        print(f"loads {order}: {failure or 'yes'}")
        if failure:
            failures.append(f"{order}: {failure}")
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
