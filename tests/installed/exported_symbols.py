#!/usr/bin/env python3
"""Compares the symbols that libpellucid.so exports with those of its minor version, packaging/abi/libpellucid-MAJOR.MINOR.symbols.

A program built with one version must run with all later ones of the same minor version: symbols may be added, not removed.
Only names of Pellucid are exported. --write writes the list, when a minor version begins.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "packaging/abi"


def exported(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def readable(symbols):
    return subprocess.run(["c++filt"], input="\n".join(sorted(symbols)), check=True, capture_output=True, text=True).stdout


def is_foreign(symbol):
    """Neither of namespace pel nor a kernel's table. Instances of the standard library's templates are shared by all."""
    return "3pel" not in symbol and not re.match(r"pel_|_Z(T[ISV]|ZN?|NK?)?(K?St)", symbol)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libpellucid.so.MAJOR.MINOR.PATCH")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    major, minor = Path(args.library).resolve().name.removeprefix("libpellucid.so.").split(".")[:2]
    path = FOLDER / f"libpellucid-{major}.{minor}.symbols"
    symbols = exported(args.library)
    foreign = {symbol for symbol in symbols if is_foreign(symbol)}
    if foreign:
        print(f"{args.library} exports symbols of other libraries:\n{readable(foreign)}", file=sys.stderr)
        return 1
    if args.write:
        path.write_text("\n".join(sorted(symbols)) + "\n", encoding="utf-8")
    before = set(path.read_text(encoding="utf-8").split())
    removed, added = before - symbols, symbols - before
    print(f"{path.name}: {len(before)} symbols, {len(added)} added, {len(removed)} removed")
    if removed:
        print(f"Programs built with {major}.{minor} need these symbols. Restore them, or begin a new minor version:\n"
              + readable(removed), file=sys.stderr)
    return 1 if removed else 0


if __name__ == "__main__":
    sys.exit(main())
