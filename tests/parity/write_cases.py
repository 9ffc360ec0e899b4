#!/usr/bin/env python3
"""Writes random cases with torch's answers, for torch_parity_test.cc. program.py describes the format."""
import argparse
import collections
import itertools
import random
import sys

import torch

from families import (attention, copies, core, creation, graphs, images, indexing, items, linalg, losses, movement, norms,
                      picking, pointwise, promotion, reductions, rows, sorting, versions, views)
from program import DTYPES, NoAnswer, Program

FORMAT_VERSION = 1
# How many cases a full run draws.
FAMILIES = {"views": (views, 5040), "indexing": (indexing, 1800), "promotion": (promotion, 960),
            "creation": (creation, 1680), "copies": (copies, 1800), "versions": (versions, 360), "items": (items, 360),
            "pointwise": (pointwise, 30420), "reductions": (reductions, 1500), "rows": (rows, 8400),
            "sorting": (sorting, 8400), "picking": (picking, 8500), "movement": (movement, 6400),
            "linalg": (linalg, 6000), "attention": (attention, 2000), "images": (images, 5800),
            "losses": (losses, 4800), "norms": (norms, 2400), "core": (core, 4800), "graphs": (graphs, 2000)}


def drawn(make):
    while True:
        program = Program()
        try:
            make(program)
            return program
        except NoAnswer:
            pass


def written(seed, percent):
    """(family name, program) for every case. Each family has its own generator: one does not shift another."""
    for name, (family, count) in FAMILIES.items():
        rng = random.Random(f"{seed} {name}")
        if hasattr(family, "pair_case"):  # in addition to random ones, one case for each pair of dtypes
            for a, b in itertools.product(DTYPES, repeat=2):
                yield name, drawn(lambda program: family.pair_case(program, rng, a, b))
        for i in range(count * percent // 100):
            if hasattr(family, "numbered_case"):  # walks over what it is about
                yield name, drawn(lambda program: family.numbered_case(program, rng, i))
            else:
                yield name, drawn(lambda program: family.case(program, rng))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--percent", type=int, default=100, help="of the cases of a full run")
    options = parser.parse_args()

    torch.set_num_threads(1)
    lines, cases, errors = [], collections.Counter(), collections.Counter()
    for number, (name, program) in enumerate(written(options.seed, options.percent), 1):
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
