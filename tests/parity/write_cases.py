#!/usr/bin/env python3
"""Writes random cases with torch's answers, for torch_parity_test.cc. program.py describes the format."""
import argparse
import collections
import itertools
import random
import sys

import torch

from families import copies, creation, indexing, items, promotion, versions, views
from program import DTYPES, NoAnswer, Program

FORMAT_VERSION = 1
# Of a hundred cases.
SHARES = {"views": (views, 42), "indexing": (indexing, 15), "promotion": (promotion, 8), "creation": (creation, 14),
          "copies": (copies, 15), "versions": (versions, 3), "items": (items, 3)}


def drawn(make):
    while True:
        program = Program()
        try:
            make(program)
            return program
        except NoAnswer:
            pass


def written(seed, count):
    """(family name, program) for every case. Each family has its own generator: one does not shift another."""
    for name, (family, share) in SHARES.items():
        rng = random.Random(f"{seed} {name}")
        if hasattr(family, "pair_case"):  # beside the random ones, one case for each pair of dtypes
            for a, b in itertools.product(DTYPES, repeat=2):
                yield name, drawn(lambda program: family.pair_case(program, rng, a, b))
        for _ in range(count * share // 100):
            yield name, drawn(lambda program: family.case(program, rng))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=12000)
    options = parser.parse_args()

    torch.set_num_threads(1)
    lines, cases, errors = [], collections.Counter(), collections.Counter()
    for number, (name, program) in enumerate(written(options.seed, options.count), 1):
        lines.append(program.line(number, name))
        cases[name] += 1
        errors[name] += program.error is not None
    version = torch.__version__.split("+")[0]
    with open(options.out, "w", encoding="ascii") as out:
        print(f"pellucid-parity {FORMAT_VERSION} seed {options.seed} torch {version} cases {len(lines)}", file=out)
        out.writelines(line + "\n" for line in lines)
    table = ", ".join(f"{name} {cases[name]} ({errors[name]} errors)" for name in cases)
    print(f"parity cases: {len(lines)} with seed {options.seed}: {table}", file=sys.stderr)


if __name__ == "__main__":
    main()
