#!/usr/bin/env python3
"""Checks that the output of examples that docs/ shows is what they print.

A ```text block below <!-- output of examples/NAME.cc --> is all of the output of build/…/example_NAME. Below
<!-- from the output of examples/NAME.cc --> it is some of its lines, in their order. Kernel names, times, numbers
of threads and scratch memory depend on the machine and are not compared. --write replaces the blocks of the first kind by the output, and
prints the output of the examples of the second kind.
"""
import argparse
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^<!-- (from the )?output of examples/(\w+)\.cc -->\n+```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
MASKS = [
    (r"_(avx512|avx2|sse4|neon|base)\w*", "_ISA"),
    (r"^( +\d+\. )(?!poi_|red_)\S+ +", r"\1KERNEL "),
    (r" +(\d[\d.]* [kMG]?B)", r" \1"),
    (r"chosen: the least predicted time.*(\n {8}.*)*", "chosen: by time"),
    (r"^ +runs on .*(\n {8}.*)*", "runs on SOME THREADS"),
    (r"memory: [\d.]+ [kMG]?B", "memory: SOME"),
]


def masked(text):
    for pattern, instead in MASKS:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text.splitlines()


@functools.cache
def output_of(binaries, name):
    result = subprocess.run([binaries / f"example_{name}"], capture_output=True, text=True, check=True, timeout=300,
                            env={**os.environ, "PELLUCID_THREADS": "2"})  # an explanation says how many, if there are several
    return result.stdout


def problem_in(shown, real, is_part):
    shown, real = masked(shown), masked(real)
    if not is_part:
        for number, (a, b) in enumerate(zip(shown, real)):
            if a != b:
                return f"line {number + 1} of the block is\n  {a}\nand the example prints\n  {b}"
        return None if len(shown) == len(real) else f"the block has {len(shown)} lines, the output {len(real)}"
    rest = iter(real)
    for line in shown:
        if line.strip() not in ("", "…") and line not in rest:
            return f"the example does not print this line, or prints it earlier:\n  {line}"
    return None


def self_test():
    assert problem_in("a\nb\n", "a\nb\n", False) is None
    assert "prints" in problem_in("a\nb\n", "a\nc\n", False)
    assert "lines" in problem_in("a\n", "a\nb\n", False)
    assert problem_in("a\n…\nc\n", "a\nb\nc\n", True) is None
    assert "earlier" in problem_in("c\na\n", "a\nb\nc\n", True)
    assert masked("  1. gemm_avx512_8x48    1 MB    2 MB") == masked("  1. gemm_avx2_6x16  1 MB 2 MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", type=Path, help="the folder of example_NAME")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    self_test()
    problems = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            is_part, name, shown = bool(block.group(1)), block.group(2), block.group(3)
            real = output_of(arguments.binaries, name)
            problem = problem_in(shown, real, is_part)
            if problem and arguments.write and not is_part:
                page.write_text(page.read_text(encoding="utf-8").replace(shown, real), encoding="utf-8")
            elif problem:
                line = text.count("\n", 0, block.start()) + 1
                problems.append(f"{page.relative_to(ROOT)}:{line}: {problem}")
                if arguments.write:
                    print(real)
    print("\n".join(problems) or "shown output: fine")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
