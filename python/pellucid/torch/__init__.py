"""For users of PyTorch. PyTorch itself is imported when a function here is called."""
from __future__ import annotations

import contextlib
import os
import tempfile
import typing
from collections.abc import Callable, Iterable

from .._doctor import Diagnosis, Path, Trace
from .._doctor import doctor as _doctor

if typing.TYPE_CHECKING:
    from ._compare import Comparison
    from ._report import FallbackWarning, MismatchWarning, Report

__all__ = ["Comparison", "FallbackWarning", "MismatchWarning", "Report", "backend", "compare", "doctor", "explain", "report",
           "reset_report"]


def backend(graph_module: typing.Any, example_inputs: typing.Any, **settings: typing.Any) -> Callable[..., typing.Any]:
    """The backend of torch.compile(model, backend="pellucid"). PyTorch finds it by its entry point and calls it for each graph.

    options={...} of torch.compile takes:
    strict: raise where an op would stay with PyTorch. Otherwise PyTorch runs it, and report() says why.
    freeze: weights do not change any more, and may be packed.
    verify: run each graph with PyTorch too, and name the first op that differs.
    random: "pellucid" (one seed per call, drawn from PyTorch's generator) or "torch" (random ops stay with PyTorch).
    """
    from ._backend import pellucid_backend

    return pellucid_backend(graph_module, example_inputs, **settings)


def report() -> Report:
    """Returns what the backend did since the last reset_report(). Print it, or read its attributes.

    It has for each graph nodes, FLOPs and time here and in PyTorch; each op that stays with PyTorch with its reason and line;
    what made Dynamo compile again; where the time of first calls went.
    """
    from ._report import report as make_report

    return make_report()


def reset_report() -> None:
    """Forgets what report() has, and which fallbacks were said."""
    from ._report import reset_report as reset

    reset()


def explain() -> str:
    """Returns what the programs in use have compiled, and why: fusions, kernels, memory, with the lines of your code."""
    from ._report import explain as explain_programs

    return explain_programs()


def compare(model: Callable[..., typing.Any], inputs: typing.Any, *, loss: Callable[..., typing.Any] | None = None,
            seconds: float = 3.0, dynamic: bool | None = None, inductor: bool = True) -> Comparison:
    """Compares eager PyTorch, Inductor and Pellucid on a model: first call, steady calls, kernels, memory, recompiles.

    Print what it returns: a table, and a sentence that says which to use.

    inputs: a tensor, a tuple of arguments or a dict of keyword arguments; a list of these is a pass over several inputs, of
        different sizes for example.
    loss: a function from the model's output to a loss. With it, a pass is forward and backward; otherwise forward without gradients.
    seconds: how long the steady times are measured, for all three together. First calls take as long as they take.
    dynamic: as in torch.compile.
    inductor: False leaves Inductor out, whose first call takes long.
    """
    from ._compare import compare as compare_sides

    return compare_sides(model, inputs, loss=loss, seconds=seconds, dynamic=dynamic, inductor=inductor)


def __getattr__(name: str) -> typing.Any:
    if name in ("FallbackWarning", "MismatchWarning", "Report"):  # their module imports torch
        from . import _report

        return getattr(_report, name)
    if name == "Comparison":
        from ._compare import Comparison

        return Comparison
    raise AttributeError(f"module 'pellucid.torch' has no attribute '{name}'")


def doctor(function: Callable[..., typing.Any], *args: typing.Any, steps: int = 5, warmup: int = 3,
           stacks: bool = True, trace: Path | None = None, before: Trace | None = None,
           what_if: str | Iterable[str] | None = None, expect: str | None = None) -> Diagnosis:
    """Profiles `function(*args)`, a training step for example, and diagnoses what bounds it.

    steps: calls that are profiled; each is a step of the diagnosis.
    warmup: calls before these. The first ones do more than later ones: they allocate, compile and choose kernels.
    stacks: records Python functions for the timeline. Each costs the host some time: False measures ops more exactly.
    trace: a file to write the trace to, .json or .json.gz; otherwise it is removed after it was read.
    before, what_if, expect: as in pellucid.doctor().
    """
    if steps < 1 or warmup < 0:
        raise ValueError(f"doctor() profiles one step or more, after 0 or more to warm up; there are {steps} and {warmup}")
    from torch import profiler

    for _ in range(warmup):
        function(*args)
    with profiler.profile(activities=profiler.supported_activities(), record_shapes=True, with_stack=stacks) as profiled:
        for step in range(steps):
            with profiler.record_function(f"ProfilerStep#{step}"):
                function(*args)
    with contextlib.ExitStack() as stack:
        if trace is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pellucid-"))
            trace = os.path.join(folder, f"{getattr(function, '__name__', 'function').strip('<>')}.json")
        profiled.export_chrome_trace(os.fsdecode(trace))
        return _doctor(trace, before=before, what_if=what_if, expect=expect)
