"""For users of PyTorch. PyTorch itself is imported when a function here is called."""
from __future__ import annotations

import contextlib
import os
import tempfile
import typing
from collections.abc import Callable, Iterable

from .._doctor import Diagnosis, Path, Trace
from .._doctor import doctor as _doctor

__all__ = ["backend", "doctor"]


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
