"""Exceptions. Each is an Error, and what Python programs expect as well: a wrong size is a ValueError.

Attributes: `code` is stable, such as "E01"; `op` is the path of the call, such as "flatten > view"; `line` is the line of the
user's program that made the call, such as "model.py:12". Both may be None.
"""
import builtins


class Error(Exception):
    """Any error of Pellucid."""
    code: "str | None" = None
    op: "str | None" = None
    line: "str | None" = None


class ShapeError(Error, builtins.ValueError):
    """E01: sizes that the op does not accept."""


class DTypeError(Error, builtins.TypeError):
    """E02: a dtype that the op does not accept, or two that do not mix."""


class IndexError(Error, builtins.IndexError):
    """E03: an axis or an index out of range."""


class ValueError(Error, builtins.ValueError):
    """E04: an argument outside its domain."""


class ArgumentError(Error, builtins.TypeError):
    """E04: an argument of a wrong type, a missing or an unknown one."""


class DeviceError(Error):
    """E05: operands on different devices, or a device that is not there."""


class AliasError(Error):
    """E06: an output that overlaps an input or itself, or memory that is read-only."""


class VersionError(Error):
    """E07: a tensor was written to before its old value was used."""


class NoKernelError(Error):
    """E08: no kernel supports the call."""


class MemoryError(Error, builtins.MemoryError):
    """E09: out of memory, or over the limit set."""


class RegistryError(Error):
    """E10: an op, a schema or a handler registered wrongly."""


class CaptureError(Error):
    """E11: a call that cannot be part of a compiled graph."""


class FileError(Error):
    """E12: a file that cannot be read or written, or is malformed."""


class ExpectationError(Error):
    """E13: the kernels that ran do not meet an expectation."""


class SyncError(Error):
    """E14: a call that waits for a device where waits are forbidden."""


class CommunicationError(Error, builtins.RuntimeError):
    """E15: ranks that call different collectives, or a rank that died or did not come."""


class InternalError(Error):
    """E99: a bug in Pellucid."""
