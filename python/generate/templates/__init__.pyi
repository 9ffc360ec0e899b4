# The names of the package. The list of ops is written at build time from the records.
import builtins
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from typing import Any, overload

from pellucid import errors as errors
from pellucid import nn as nn
from pellucid import ops as ops
from pellucid import optim as optim
from pellucid._core import CompiledFunction as CompiledFunction
from pellucid._core import CompileExplanation as CompileExplanation
from pellucid._core import Dim as Dim
from pellucid._core import DType as DType
from pellucid._core import Number
from pellucid._core import Op as Op
from pellucid._core import Tensor as Tensor
from pellucid._core import bfloat16 as bfloat16
from pellucid._core import bool as bool
from pellucid._core import device_stats as device_stats
from pellucid._core import empty_cache as empty_cache
from pellucid._core import find_op as find_op
from pellucid._core import float16 as float16
from pellucid._core import float32 as float32
from pellucid._core import float64 as float64
from pellucid._core import from_dlpack as from_dlpack
from pellucid._core import from_numpy as from_numpy
from pellucid._core import get_num_threads as get_num_threads
from pellucid._core import int8 as int8
from pellucid._core import int16 as int16
from pellucid._core import int32 as int32
from pellucid._core import int64 as int64
from pellucid._core import is_grad_enabled as is_grad_enabled
from pellucid._core import is_inference_mode_enabled as is_inference_mode_enabled
from pellucid._core import manual_seed as manual_seed
from pellucid._core import memory_stats as memory_stats
from pellucid._core import result_type as result_type
from pellucid._core import set_memory_limit as set_memory_limit
from pellucid._core import set_num_threads as set_num_threads
from pellucid._core import synchronize as synchronize
from pellucid._core import uint8 as uint8
from pellucid._doctor import Diagnosis as Diagnosis
from pellucid._doctor import doctor as doctor
from pellucid._elementwise import load_library as load_library
from pellucid._elementwise import op as op
from pellucid._profile import Profile as Profile
from pellucid._profile import ProfileRow as ProfileRow
from pellucid._profile import Range as Range
from pellucid.errors import Error as Error
# FUNCTIONS

__version__: str

class no_grad(ContextDecorator):
    def __enter__(self) -> no_grad: ...
    def __exit__(self, *error: object) -> None: ...

class enable_grad(ContextDecorator):
    def __enter__(self) -> enable_grad: ...
    def __exit__(self, *error: object) -> None: ...

class inference_mode(ContextDecorator):
    def __enter__(self) -> inference_mode: ...
    def __exit__(self, *error: object) -> None: ...

class forbid_sync(ContextDecorator):
    def __enter__(self) -> forbid_sync: ...
    def __exit__(self, *error: object) -> None: ...

class autocast(ContextDecorator):
    def __init__(self, dtype: DType = ...) -> None: ...
    def __enter__(self) -> autocast: ...
    def __exit__(self, *error: object) -> None: ...

def tensor(data: Any, *, dtype: DType | str | None = None, device: str | None = None,
           requires_grad: builtins.bool = False) -> Tensor: ...
def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor],
         grad_outputs: Tensor | Sequence[Tensor] | None = None, *, retain_graph: builtins.bool = False,
         create_graph: builtins.bool = False, allow_unused: builtins.bool = False) -> tuple[Tensor | None, ...]: ...
def backward(tensors: Tensor | Sequence[Tensor], grad_tensors: Tensor | Sequence[Tensor] | None = None, *,
             retain_graph: builtins.bool = False, create_graph: builtins.bool = False) -> None: ...
@overload
def compile(function: Callable[..., Any], *, verifies_host_code: builtins.bool = False,
            memory_budget_bytes: int = 0) -> CompiledFunction: ...
@overload
def compile(function: None = None, *, verifies_host_code: builtins.bool = False,
            memory_budget_bytes: int = 0) -> Callable[[Callable[..., Any]], CompiledFunction]: ...
