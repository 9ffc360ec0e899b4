#!/usr/bin/env python3
"""What Inductor does with a file that somebody else has put into its cache folder: the peer of kernel_cache.py's test.

planted_in_inductor.py, with a Python that has torch and a C++ compiler in PATH. Fills a new cache folder, adds one line to
each generated Python file in it, and runs the same program again. Prints which planted files were executed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
import torch
f = torch.compile(lambda x: torch.nn.functional.gelu(x) * x + 1)
print(f(torch.ones(64)).sum().item())
"""


def run(folder):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300)


def main():
    with tempfile.TemporaryDirectory(prefix="planted_") as where:
        folder, marker = pathlib.Path(where) / "cache", pathlib.Path(where) / "executed"
        first = run(folder)
        planted = sorted(folder.rglob("*.py"))
        for file in planted:
            with open(file, "a", encoding="utf-8") as source:
                source.write(f"\nopen({str(marker)!r}, 'a').write(__file__ + '\\n')\n")
        second = run(folder)
        executed = set(marker.read_text(encoding="utf-8").split()) if marker.exists() else set()
        print(f"first call: exit code {first.returncode}, {len(planted)} generated Python files in the folder")
        print(f"second process, with a line added to each: exit code {second.returncode}, same result: "
              f"{first.stdout == second.stdout}, {len(executed)} planted files executed")
        return 0 if first.returncode == second.returncode == 0 and planted else 1


if __name__ == "__main__":
    sys.exit(main())
