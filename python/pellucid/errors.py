"""The errors of Pellucid. Each has a code, which does not change between versions, and is also the built-in exception
that people expect."""
from __future__ import annotations

import builtins


class Error(Exception):
    """Base of all: `code` is "E04"; `op` and `line` are None where there is none."""

    code: str | None = None
    op: str | None = None
    line: str | None = None


class ValueError(Error, builtins.ValueError):  # noqa: A001
    code = "E04"


class FileError(Error, builtins.ValueError):
    """A file that cannot be read or written, or is malformed."""

    code = "E12"
