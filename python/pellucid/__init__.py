"""Pellucid: a tensor runtime that explains itself."""
from pellucid import _core
from pellucid._doctor import Diagnosis, doctor
from pellucid.errors import Error

__version__ = _core.__version__
