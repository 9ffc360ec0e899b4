"""compile: functions over tensors as plans of kernels."""
import functools

from pellucid import _core


def compile(function=None, *, verifies_host_code=False, memory_budget_bytes=0):
    """Returns a compiled function, called like the function itself. Also a decorator.

    The function takes Tensors and returns one, or a tuple or list of them. It runs once, with symbolic sizes; results have the
    bits that the function itself returns. explain() of the result says what was compiled, and why.

    verifies_host_code: captures again at each call, and raises a CaptureError that names the first op that differs.
    memory_budget_bytes: bytes that a call should stay below, at the sizes of the first call.
    """
    if function is None:
        return functools.partial(compile, verifies_host_code=verifies_host_code, memory_budget_bytes=memory_budget_bytes)
    return _core.CompiledFunction(function, verifies_host_code, memory_budget_bytes)
