"""Gradients of functions, and scopes in which calls are recorded or not, or may not wait. A scope is a context manager or a decorator."""
from contextlib import ContextDecorator

from pellucid import _core


class _Scope(ContextDecorator):
    _kind = ""
    _dtype = None

    def __enter__(self):
        scope = _core._Scope(self._kind, self._dtype)
        scope.enter()
        self.__dict__.setdefault("_entered", []).append(scope)
        return self

    def __exit__(self, *error):
        self._entered.pop().leave()


class no_grad(_Scope):
    """In scope, calls are not recorded: results require no gradient."""
    _kind = "no_grad"


class enable_grad(_Scope):
    """In scope, calls are recorded even within no_grad."""
    _kind = "enable_grad"


class inference_mode(_Scope):
    """no_grad that enable_grad cannot undo."""
    _kind = "inference_mode"


class forbid_sync(_Scope):
    """In scope, calls that would wait for a device raise a SyncError instead."""
    _kind = "forbid_sync"


class autocast(_Scope):
    """In scope, matmuls, convolutions and attention cast float32 arguments to bfloat16 or float16."""
    _kind = "autocast"

    def __init__(self, dtype=_core.bfloat16):
        self._dtype = dtype


def _list(tensors):
    return [tensors] if isinstance(tensors, _core.Tensor) else list(tensors)


def grad(outputs, inputs, grad_outputs=None, *, retain_graph=False, create_graph=False, allow_unused=False):
    """Returns the gradients of `outputs` with respect to `inputs`, as a tuple. Changes no `grad` attribute."""
    gradients = [] if grad_outputs is None else _list(grad_outputs)
    return tuple(_core._grad(_list(outputs), _list(inputs), gradients, retain_graph, create_graph, allow_unused))


def backward(tensors, grad_tensors=None, *, retain_graph=False, create_graph=False):
    """Adds the gradients of `tensors` with respect to each leaf to the leaf's grad."""
    _core._backward(_list(tensors), [] if grad_tensors is None else _list(grad_tensors), retain_graph, create_graph)
