#!/usr/bin/env python3
"""Checks that two builds of pellucid-doctor answer the same: text, --json, --html, stderr and exit code, byte for byte.

    packaging/doctor/same_output.py REFERENCE PROGRAM [WORD...]

PROGRAM with its WORDs starts the other build: `qemu-aarch64-static pellucid-doctor`, `wine pellucid-doctor.exe`. The traces are
those in the folder that PELLUCID_TRACES names (--traces), without it a small one of the tests, and damaged ones that are made of
them: cut off, bytes changed, quotes and brackets too many, packed data with faults. --limit N takes the N smallest traces.
"""
import argparse
import gzip
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = ROOT / "tests/inspect/launches.json"
TIMEOUT = 300


def find_traces(folder, limit):
    if folder is None:
        return [SMALL]
    traces = [path for path in folder.rglob("*") if path.name.endswith((".json", ".json.gz", ".zst")) and
              path.name != "EXPECTED.json"]
    return sorted(sorted(traces, key=lambda path: path.stat().st_size)[:limit])


def changed(text, rng, byte, count):
    """Returns the text with so many bytes replaced."""
    text = bytearray(text)
    for _ in range(count):
        text[rng.randrange(len(text))] = byte
    return bytes(text)


def damaged(trace):
    """Returns {name: bytes} of damaged traces; the same for the same trace."""
    packed = trace.read_bytes()
    text = gzip.decompress(packed) if trace.suffix == ".gz" else packed
    packed = gzip.compress(text, mtime=0)
    rng = random.Random(1)
    third, half = len(text) // 3, len(text) // 2
    flipped = bytearray(packed)
    flipped[len(flipped) // 2] ^= 0x10
    return {
        "cut.json": text[:half],
        "cut_in_string.json": text[:text.rindex(b'"name": "', 0, half) + 12] if b'"name": "' in text[:half] else text[:third],
        "quotes.json": changed(text, rng, ord('"'), 5),
        "backslashes.json": changed(text, rng, ord("\\"), 5),
        "brackets.json": changed(text, rng, ord("{"), 3) + b"]]}",
        "line_breaks.json": changed(text, rng, ord("\n"), 20),
        "control_bytes.json": changed(text, rng, 1, 20),
        "no_utf8.json": changed(text, rng, 0xff, 20),
        "commas.json": changed(text, rng, ord(","), 20),
        "quote_removed.json": text[:third] + text[third:].replace(b'"', b"", 1),
        "cut.json.gz": packed[:len(packed) // 2],
        "flipped.json.gz": bytes(flipped),
        "checksum.json.gz": packed[:-8] + b"\0\0\0\0" + packed[-4:],
        "text_after.json.gz": packed + b"text",
        "empty.json": b"",
        "not_a_trace.json": b"no trace",
    }


class Program:
    def __init__(self, words):
        self.words = words

    def run(self, folder, words, stdin=None):
        """Returns what the program says about files of the folder, and the page that it wrote."""
        page = folder / "page.html"
        page.unlink(missing_ok=True)
        with open(stdin or os.devnull, "rb") as source:
            ran = subprocess.run([*self.words, *words], cwd=folder, stdin=source, capture_output=True, timeout=TIMEOUT)
        return {"exit code": ran.returncode, "stdout": ran.stdout, "stderr": ran.stderr,
                "page": page.read_bytes() if page.exists() else None}


def first_difference(expected, found):
    if not isinstance(expected, bytes) or not isinstance(found, bytes):
        return f"expected {expected!r:.100}, found {found!r:.100}"
    at = next((i for i, (a, b) in enumerate(zip(expected, found)) if a != b), min(len(expected), len(found)))
    begin = max(0, at - 60)
    return f"at byte {at}: expected {expected[begin:at + 60]!r}, found {found[begin:at + 60]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=pathlib.Path, default=os.environ.get("PELLUCID_TRACES"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("reference")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    if not asked.program:
        parser.error("give the program to compare with the reference")
    resolved = [str(pathlib.Path(word).resolve()) if pathlib.Path(word).is_file() else word for word in asked.program]
    reference, program = Program([str(pathlib.Path(asked.reference).resolve())]), Program(resolved)

    traces = find_traces(pathlib.Path(asked.traces) if asked.traces else None, asked.limit)
    if not traces:
        sys.exit(f"{asked.traces}: expected traces, found none")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        base = pathlib.Path(name)
        files = {}  # a name of its own for each: {name in the folder: whether it is damaged}
        for number, trace in enumerate(traces):
            files[f"{number:02}_{trace.name}"] = False
            shutil.copy(trace, base / f"{number:02}_{trace.name}")
        smallest = min(traces, key=lambda path: path.stat().st_size)
        for file, data in damaged(smallest).items():
            files[f"damaged_{file}"] = True
            (base / f"damaged_{file}").write_bytes(data)
        runs = [[file, *words] for file in files for words in ([], ["--json"], ["--html", "page.html"])]
        runs += [[file, "--strict"] for file, is_damaged in files.items() if is_damaged]
        whole = [file for file, is_damaged in files.items() if not is_damaged]
        runs += [["--ranks", *whole[:8]], [*whole[:3], "damaged_cut.json"], [whole[0], "--before", whole[-1]],
                 [whole[0], "--what-if", "dispatch=0.5", "--only", "what_if"], ["missing.json"], ["--nonsense"], ["--version"],
                 ["--help"], ["-"]]
        if len(whole) < 2:
            runs = [run for run in runs if run[0] != "--ranks"]
        folders = [base / f"run{i}" for i in range(asked.jobs)]
        for folder in folders:
            folder.mkdir()
            for file in files:
                os.link(base / file, folder / file)

        def compare(job):
            problems = []
            for words in runs[job::asked.jobs]:
                stdin = folders[job] / whole[0] if words == ["-"] else None
                expected = reference.run(folders[job], words, stdin)
                found = program.run(folders[job], words, stdin)
                for part in expected:
                    if expected[part] != found[part]:
                        problems.append(f"{' '.join(words)}: {part} differs: {first_difference(expected[part], found[part])}")
            return problems

        with ThreadPoolExecutor(asked.jobs) as pool:
            problems = [problem for found in pool.map(compare, range(asked.jobs)) for problem in found]
    for problem in problems:
        print(problem)
    print(f"same_output: {len(traces)} traces, {len(files) - len(traces)} damaged ones, {len(runs)} runs, "
          f"{len(problems)} differences, {time.monotonic() - start:.0f} s")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
