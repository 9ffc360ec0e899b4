"""Pellucid: a tensor runtime that explains itself.

Ops have the names, arguments and semantics of PyTorch. help(pellucid.softmax) shows what one does.
"""
from pellucid import _core, errors
from pellucid._autograd import autocast, backward, enable_grad, forbid_sync, grad, inference_mode, no_grad
from pellucid._compile import compile
from pellucid._core import (
    CompiledFunction, CompileExplanation, Dim, DType, Op, Tensor, bfloat16, device_stats, empty_cache, find_op, float16, float32, float64,
    from_dlpack, from_numpy, get_num_threads, int8, int16, int32, int64, is_grad_enabled, is_inference_mode_enabled,
    manual_seed, memory_stats, result_type, set_memory_limit, set_num_threads, synchronize, uint8)
from pellucid._methods import METHODS as _METHODS
from pellucid._tensor import add_methods as _add_methods
from pellucid._tensor import tensor
from pellucid.errors import Error

# Names that are imported when they are first used: `import pellucid` takes 21 ms of CPU time without them, and 70 with them.
_LAZY = {
    "Diagnosis": "_doctor", "doctor": "_doctor", "Profile": "_profile", "ProfileRow": "_profile", "Range": "_profile",
    "load_library": "_elementwise", "op": "_elementwise", "nn": "", "optim": "",
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'pellucid' has no attribute '{name}'")
    from importlib import import_module
    module = import_module("pellucid." + (_LAZY[name] or name))
    globals()[name] = value = getattr(module, name) if _LAZY[name] else module
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})


__version__ = _core.__version__
bool = _core.bool  # the dtype, as torch.bool is

# Ops are functions of this module, and methods of Tensor if PyTorch has the method. Forms that write into an argument are
# methods and functions of pellucid.ops.
for _name, _op in _core.ops.items():
    if not (_op.is_internal or _name.endswith(("_", ".out")) or "::" in _name):
        globals()[_name] = _op
    if _name in _METHODS:
        setattr(Tensor, _name, _op)
_add_methods()
del _name, _op

from pellucid import ops  # noqa: E402  after the methods are there
