"""compare(): a model in eager PyTorch, compiled by Inductor and compiled by Pellucid, measured side by side in this process."""
from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import re
import shutil
import statistics
import time
import types
import typing
from collections.abc import Callable, Iterator

import torch
import torch._dynamo
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

import pellucid

EAGER, INDUCTOR, PELLUCID = "eager", "inductor", "pellucid"
BURST_SECONDS = 0.02  # calls are repeated until a sample takes about this long
MIN_ROUNDS = 6
CLOSE = 0.05  # times that differ by less are called equal
MANY_CALLS = 1_000_000  # "soon" in the advice: a first call that pays off only after more calls than this never does


@dataclasses.dataclass
class Side:
    """One way to run the model. Times are in seconds. What was not measured is None."""

    name: str
    skipped: str | None = None  # why it was not measured
    first_call: float | None = None
    steady: float | None = None  # median time of one pass over the inputs
    quartiles: tuple[float, float] | None = None
    kernels: int | None = None  # ops that eager dispatches; kernels that a compiler generated or runs
    peak_bytes: int | None = None  # how far memory grows in one pass, above what was resident before
    graphs: int | None = None  # that Dynamo compiled in the first pass
    recompiles: int | None = None  # graphs that it compiled for later inputs
    difference: float | None = None  # from eager, largest, as a share of the largest element


@dataclasses.dataclass
class Comparison:
    """What compare() measured. Print it, or read `sides` and `advice`."""

    sides: dict[str, Side]
    advice: str  # which to use, and why
    threads: int
    training: bool
    notes: list[str]

    @property
    def text(self) -> str:
        return text_of(self)

    def to_dict(self) -> dict[str, typing.Any]:
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.text)}</pre>"


def compare(model: Callable[..., typing.Any], inputs: typing.Any, *, loss: Callable[..., torch.Tensor] | None = None,
            seconds: float = 3.0, dynamic: bool | None = None, inductor: bool = True) -> Comparison:
    """As pellucid.torch.compare(), which documents the arguments."""
    if seconds <= 0:
        raise ValueError(f"compare() measures for a positive time; seconds is {seconds}.")
    batches = [arguments_of(batch) for batch in (inputs if isinstance(inputs, list) else [inputs])]
    if not batches:
        raise ValueError("compare() needs one input at least; the list of inputs is empty.")
    sides = {name: Side(name) for name in (EAGER, INDUCTOR, PELLUCID)}
    passes = {EAGER: make_pass(model, batches, loss)}
    expected = passes[EAGER]()
    sides[EAGER].kernels = count_ops(passes[EAGER])
    reason = None if inductor else "it was left out by inductor=False"
    sides[INDUCTOR].skipped = reason or without_compiler()
    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        for side in list(sides.values())[1:]:
            if side.skipped is not None:
                continue
            if side.name == INDUCTOR:
                stack.enter_context(empty_cache())
            try:
                passes[side.name] = first_pass(side, model, batches, loss, dynamic, expected)
            except Exception as error:  # one that fails does not hide the others
                side.skipped = f"it failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        graphs = graphs_so_far()
        for name, times in interleave(passes, seconds).items():
            sides[name].steady = statistics.median(times)
            sides[name].quartiles = quartiles(times)
        if graphs_so_far() > graphs:
            notes.append(f"Dynamo compiled {graphs_so_far() - graphs} more graphs while steady times were measured.")
        for name, call in passes.items():
            sides[name].peak_bytes = peak_bytes(call)
    notes += pellucid_notes()
    return Comparison(sides, advice(sides), torch.get_num_threads(), loss is not None, notes)


# ---- Passes over the inputs


def arguments_of(batch):
    if isinstance(batch, dict):
        return (), batch
    return (batch if isinstance(batch, tuple) else (batch,)), {}


def distinct(function):
    """Returns a copy with its own code object: Dynamo stores compiled code there, and would search that of other backends first."""
    code = function.__code__.replace(co_name=f"{function.__code__.co_name}_{time.monotonic_ns()}")
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def make_pass(model, batches, loss, backend=None, dynamic=None):
    """Returns a function that runs the model over the inputs, or the first `count` of them, and returns the last output."""
    def call(*args, **kwargs):
        output = model(*args, **kwargs)
        return output if loss is None else loss(output)

    forward = call if backend is None else torch.compile(distinct(call), backend=backend, dynamic=dynamic)
    parameters = list(model.parameters()) if isinstance(model, torch.nn.Module) else []

    def run(count=None):
        if loss is None:
            with torch.no_grad():
                for args, kwargs in batches[:count]:
                    output = forward(*args, **kwargs)
            return output
        for args, kwargs in batches[:count]:
            for parameter in parameters:
                parameter.grad = None
            output = forward(*args, **kwargs)
            output.backward()
        return output.detach()

    return run


def first_pass(side, model, batches, loss, dynamic, expected):
    """Compiles, measures the first call, and returns the function for later passes."""
    backend = "inductor" if side.name == INDUCTOR else pellucid_backend()
    kernels, graphs = generated_kernels(), graphs_so_far()
    run = make_pass(model, batches, loss, backend, dynamic)
    start = time.perf_counter()
    run(1)
    side.first_call = time.perf_counter() - start
    side.graphs = graphs_so_far() - graphs
    run()
    found = run()
    side.recompiles = graphs_so_far() - graphs - side.graphs
    side.difference = largest_difference(expected, found)
    side.kernels = generated_kernels() - kernels if side.name == INDUCTOR else pellucid_kernels()
    return run


def pellucid_backend():
    from . import backend, reset_report

    reset_report()
    return backend


def pellucid_kernels():
    from . import report

    return sum(len(graph.kernels) for graph in report().graphs)


def pellucid_notes():
    from . import report

    left = report().fallbacks
    if not left:
        return []
    names = ", ".join(f"{entry.op} ({entry.file}:{entry.line})" for entry in left[:3])
    return [f"{len(left)} ops stay with PyTorch in Pellucid's graphs: {names}{' and others' if len(left) > 3 else ''}. "
            "pellucid.torch.report() has their reasons."]


def graphs_so_far():
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


def generated_kernels():
    from torch._inductor import metrics

    return metrics.generated_kernel_count


@contextlib.contextmanager
def empty_cache() -> Iterator[None]:
    """Lets Inductor compile into an empty folder, as on a machine that never saw the model."""
    from torch._inductor.utils import fresh_cache

    with fresh_cache():
        yield


def without_compiler():
    """Returns why Inductor cannot compile, or None."""
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler

        compiler = get_cpp_compiler()
    except Exception as error:  # it raises its own error if there is none
        return f"there is no C++ compiler, which it needs ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
    if shutil.which(compiler) is None:
        return f"there is no C++ compiler, which it needs: {compiler} is not on PATH"
    return None


# ---- Measurements


class OpCount(TorchDispatchMode):
    """Counts the ops that PyTorch dispatches, without views."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += not getattr(func, "is_view", False)
        return func(*args, **(kwargs or {}))


def count_ops(call):
    with OpCount() as mode:
        call()
    return mode.count


def largest_difference(expected, found):
    largest = 0.0
    for a, b in zip(pytree.tree_leaves(expected), pytree.tree_leaves(found)):
        if isinstance(a, torch.Tensor) and a.is_floating_point() and a.numel():
            scale = a.abs().max().double().item() or 1.0
            largest = max(largest, (a.double() - b.double()).abs().max().item() / scale)
    return largest


def interleave(calls, seconds, clock=time.perf_counter, rounds=None):
    """Returns samples of the time of one call, by name. The calls alternate, so that a busy moment affects all of them.

    There are 6 samples at least, and at most `rounds` if that is set.
    """
    repeats = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, round(BURST_SECONDS / max(time.perf_counter() - start, 1e-7)))
    samples = {name: [] for name in calls}
    taken = 0
    end = time.perf_counter() + seconds
    while taken < MIN_ROUNDS or (time.perf_counter() < end and taken != rounds):
        taken += 1
        for name, call in calls.items():
            start = clock()
            for _ in range(repeats[name]):
                call()
            samples[name].append((clock() - start) / repeats[name])
    return samples


def quartiles(samples):
    low, _, high = statistics.quantiles(samples, n=4)
    return low, high


def status_bytes(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1]) * 1024


def peak_bytes(call):
    """Returns how far the resident memory of this process grows during a call, or None if the system does not tell."""
    try:
        call()
        gc.collect()
        pellucid.empty_cache()  # free blocks that are kept count as used by the call that takes them
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w", encoding="ascii") as marks:
            marks.write("5")  # the peak starts again from the current size
        before = status_bytes("VmRSS")
        call()
        return max(status_bytes("VmHWM") - before, 0)
    except (OSError, AttributeError, TypeError):
        return None


# ---- Advice and text


def advice(sides):
    """Returns one or two sentences: which to use, and why."""
    measured = {name: side for name, side in sides.items() if side.steady is not None}
    if PELLUCID not in measured:
        return f"Use eager PyTorch: Pellucid was not measured, because {sides[PELLUCID].skipped}."
    eager, ours, theirs = measured[EAGER], measured[PELLUCID], measured.get(INDUCTOR)
    if theirs is None:
        faster = eager.steady / ours.steady
        if faster > 1 + CLOSE:
            return f"Use Pellucid: it is {faster:.2f} times as fast as eager. Inductor was not measured: {sides[INDUCTOR].skipped}."
        return f"Use eager PyTorch: Pellucid takes {ours.steady / eager.steady:.2f} of its time. " \
               f"Inductor was not measured: {sides[INDUCTOR].skipped}."
    best = min(ours.steady, theirs.steady)
    if eager.steady <= best * (1 + CLOSE):
        return "Use eager PyTorch: neither compiler makes this model faster by more than 5 %."
    if ours.steady <= theirs.steady * (1 + CLOSE):
        relation = "as fast as Inductor" if ours.steady >= theirs.steady * (1 - CLOSE) else \
            f"{theirs.steady / ours.steady:.2f} times as fast as Inductor"
        first = "and its first call is shorter" if ours.first_call < theirs.first_call else "but its first call is longer"
        return f"Use Pellucid: it is {relation} and {eager.steady / ours.steady:.2f} times as fast as eager, {first} " \
               f"({ours.first_call:.1f} s, Inductor {theirs.first_call:.1f} s)."
    calls = (theirs.first_call - ours.first_call) / (ours.steady - theirs.steady)
    if calls > 0 and ours.steady < eager.steady:
        return f"Use Pellucid for up to {min(calls, MANY_CALLS):,.0f} calls, Inductor for more: its steady calls take " \
               f"{theirs.steady / ours.steady:.2f} of Pellucid's time, its first call {theirs.first_call / ours.first_call:.1f} times as long."
    return f"Use Inductor: its calls take {theirs.steady / ours.steady:.2f} of Pellucid's time."


def duration(value):
    if value is None:
        return "-"
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    return "-"


def number(value, form=""):
    return "-" if value is None else format(value, form)


def text_of(comparison):
    kind = "training step" if comparison.training else "inference"
    head = ["", "first call", "steady", "quartiles", "kernels", "peak memory", "graphs", "recompiles", "difference"]
    rows = [head]
    notes = []
    for side in comparison.sides.values():
        if side.skipped is not None:
            notes.append(f"{side.name} was not measured: {side.skipped}.")
            continue
        spread = "-" if side.quartiles is None else " .. ".join(map(duration, side.quartiles))
        memory = "-" if side.peak_bytes is None else f"{side.peak_bytes / 1e6:.1f} MB"
        rows.append([side.name, duration(side.first_call), duration(side.steady), spread, number(side.kernels), memory,
                     number(side.graphs), number(side.recompiles), number(side.difference, ".1e")])
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [f"{kind}, {comparison.threads} thread{'s' if comparison.threads != 1 else ''}", ""]
    lines += ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
              for row in rows]
    return "\n".join([*lines, "", *notes, *comparison.notes, comparison.advice])
