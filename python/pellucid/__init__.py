"""Pellucid: a tensor runtime that explains itself."""
from pellucid import _core

__version__ = _core.__version__
