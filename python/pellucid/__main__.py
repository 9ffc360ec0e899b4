"""The command line: python -m pellucid COMMAND is the program pellucid, which the package brings along."""
import os
import pathlib
import sys
import typing

PROGRAM = pathlib.Path(__file__).absolute().parent / "bin" / "pellucid"


def main() -> typing.NoReturn:
    sys.stdout.flush()
    os.execv(PROGRAM, ["pellucid", *sys.argv[1:]])


if __name__ == "__main__":
    main()
