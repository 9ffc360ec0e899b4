"""What the backend records about each graph, and the report that users read.

`Graph` is written to while a graph is compiled and called. `report()` takes a copy of all figures: a `Report`.
"""
from __future__ import annotations

import collections
import dataclasses
import logging
import os
import textwrap
import time
import warnings
import weakref

from . import _inner_api
from ._lowering import computes, location_of

logger = logging.getLogger("pellucid.torch")
WIDTH = 100


class FallbackWarning(UserWarning):
    """An op stays with PyTorch."""


class MismatchWarning(UserWarning):
    """With the option verify: a program computes something else than PyTorch."""


# ---- What is recorded

# Figures of a program that stay known after it is gone.
COUNTERS = ("calls", "ns", "compiles", "plans", "first_call_ns", "compile_ns", "copies_for_strides")


@dataclasses.dataclass
class Left:
    """A node that PyTorch runs."""
    op: str
    reason: str
    file: str
    line: int
    flops: int


class Graph:
    """One graph of AOTAutograd."""

    def __init__(self, number, kind, compilation):
        self.number = number
        self.kind = kind  # inference, forward or backward
        self.compilation = compilation  # Compilation, or None
        self.nodes = 0
        self.flops_of = {}  # name of a node -> its FLOPs
        self.left = {}  # name of a node -> Left
        self.programs = []  # weak references to BuiltProgram
        self.counters = collections.Counter()  # of programs that are gone
        self.lowering_ns = 0
        self.build_ns = 0  # capture and compile
        self.compile_ns = 0  # all of our time while the graph was compiled
        self.torch_ns = self.torch_calls = 0
        self.shared = 0  # programs that an earlier graph has built

    def count(self, lowering):
        """Counts nodes and FLOPs of the whole graph."""
        for node in lowering.nodes:
            if computes(node):
                self.nodes += 1
                self.flops_of[node.name] = _inner_api.flops_of(node)

    def leave(self, node, reason):
        """Records that PyTorch runs a node."""
        file, line = location_of(node)
        self.left[node.name] = Left(op_name(node), reason, file, line, self.flops_of.get(node.name, 0))

    def say(self, node, reason):
        """Warns that PyTorch runs a node, once for each op and reason."""
        file, line = location_of(node)
        _session.say_once(op_name(node), reason, file, line)

    def add_program(self, program):
        self.programs.append(weakref.ref(program))
        # Keeps the figures when the program is deleted; not at the end of the process, when modules are gone.
        weakref.finalize(program, self.release, program.program).atexit = False

    def release(self, program):
        self.counters.update(counters_of(program))

    def ns_here(self):
        return self.counters["ns"] + sum(p().program.ns for p in self.programs if p() is not None)


def counters_of(program):
    return {name: getattr(program, name, 0) for name in COUNTERS}


@dataclasses.dataclass
class Compilation:
    """A call of the backend by Dynamo."""
    compile_id: str | None
    backend_ns: int = 0  # AOTAutograd and we
    ours_ns: int = 0
    is_running: bool = True


class Session:
    """All that was recorded since the last reset."""

    def __init__(self):
        self.start_us = time.time_ns() // 1000
        self.graphs = []
        self.compilations = []
        self.said = set()
        self.mismatches = []  # what the option verify has found

    def say_once(self, op, reason, file, line):
        if (op, reason) in self.said:
            return
        self.said.add((op, reason))
        place = f" ({file}:{line})" if file else ""
        text = f"{op} stays with PyTorch: {reason.rstrip('.')}{place}. pellucid.torch.report() has the whole list."
        warnings.warn_explicit(text, FallbackWarning, file or "torch.compile", line)
        if logger.hasHandlers():  # without handlers logging would print the text a second time
            logger.warning("%s", text)

    def add_mismatch(self, text):
        """Records and says what the option verify has found."""
        self.mismatches.append(text)
        warnings.warn(text, MismatchWarning, stacklevel=3)
        if logger.hasHandlers():
            logger.warning("%s", text)


_session = Session()


def session():
    return _session


def reset_report():
    """Forgets all figures."""
    global _session
    _session = Session()


def add_graph(kind):
    """Records a graph that is compiled now."""
    running = [c for c in _session.compilations if c.is_running]
    graph = Graph(len(_session.graphs), kind, running[-1] if running else None)
    _session.graphs.append(graph)
    return graph


def op_name(node):
    return str(node.target)


def place_text(node):
    file, line = location_of(node)
    return f"{file}:{line}" if file else "unknown line"


# ---- What users read


@dataclasses.dataclass
class GraphReport:
    """Figures of one graph. Times are in nanoseconds; "here" is what Pellucid runs."""
    number: int
    kind: str
    nodes: int
    nodes_here: int
    flops: int
    flops_here: int
    programs: int
    shared: int
    calls: int
    compiles: int
    plans: int
    ns_here: int
    ns_torch: int
    lowering_ns: int
    compile_ns: int
    first_call_ns: int
    copies_for_strides: int
    kernels: list


@dataclasses.dataclass
class Fallback:
    """An op that stays with PyTorch, at one line, for one reason."""
    op: str
    reason: str
    file: str
    line: int
    count: int
    flops: int


@dataclasses.dataclass
class Recompile:
    """A compilation of Dynamo because a guard of an earlier one has failed."""
    function: str
    file: str
    line: int
    reason: str


@dataclasses.dataclass
class FirstCalls:
    """Seconds that compilation took, by part. None is unknown."""
    dynamo: float | None
    aot_autograd: float
    lowering: float
    capture_and_compile: float
    first_plans_and_runs: float

    @property
    def pellucid(self):
        return self.lowering + self.capture_and_compile + self.first_plans_and_runs


@dataclasses.dataclass
class Report:
    """What the backend did since the last reset_report()."""
    graphs: list[GraphReport]
    fallbacks: list[Fallback]
    recompiles: list[Recompile]
    first_calls: FirstCalls
    mismatches: list[str]

    @property
    def nodes(self):
        return sum(g.nodes for g in self.graphs)

    @property
    def nodes_here(self):
        return sum(g.nodes_here for g in self.graphs)

    @property
    def flops(self):
        return sum(g.flops for g in self.graphs)

    @property
    def flops_here(self):
        return sum(g.flops_here for g in self.graphs)

    def to_dict(self):
        return dataclasses.asdict(self)

    def __str__(self):
        return text_of(self)

    def _repr_html_(self):
        import html
        return f"<pre>{html.escape(str(self))}</pre>"


def report():
    """Returns what the backend did since the last reset_report(): print it, or read its attributes."""
    graphs, fallbacks = [], {}
    for graph in _session.graphs:
        graphs.append(graph_report(graph))
        for left in graph.left.values():
            key = (left.op, left.reason, left.file, left.line)
            found = fallbacks.setdefault(key, Fallback(*key, 0, 0))
            found.count += 1
            found.flops += left.flops
    recompiles, first_calls = from_dynamo(graphs)
    ordered = sorted(fallbacks.values(), key=lambda f: (-f.flops, -f.count, f.op))
    return Report(graphs, ordered, recompiles, first_calls, list(_session.mismatches))


def graph_report(graph):
    programs = [p() for p in graph.programs if p() is not None]
    counters = collections.Counter(graph.counters)
    for program in programs:
        counters.update(counters_of(program.program))
    flops = sum(graph.flops_of.values())
    return GraphReport(
        graph.number, graph.kind, graph.nodes, graph.nodes - len(graph.left), flops,
        flops - sum(left.flops for left in graph.left.values()), len(graph.programs), graph.shared,
        max(graph.torch_calls, counters["calls"] // max(len(graph.programs), 1)), counters["compiles"], counters["plans"],
        counters["ns"], graph.torch_ns, graph.lowering_ns, graph.build_ns, counters["first_call_ns"],
        counters["copies_for_strides"], [kernel for program in programs for kernel in kernels_of(program.program)])


def kernels_of(program):
    try:
        return list(program.kernels())
    except Exception:  # there is no call yet
        return []


def from_dynamo(graphs):
    """Returns the recompiles, and where the time of first calls went."""
    recorded = {c.compile_id: c for c in _inner_api.compilations(_session.start_us)}
    recompiles, dynamo = [], None
    backend = sum(c.backend_ns for c in _session.compilations)
    ours = sum(c.ours_ns for c in _session.compilations)
    for compilation in _session.compilations:
        found = recorded.get(compilation.compile_id)
        if found is None:
            continue
        if found.total is not None:
            dynamo = (dynamo or 0) + max(found.total - compilation.backend_ns / 1e9, 0)
        if found.recompile_reason:
            recompiles.append(Recompile(found.function, found.file, found.line, found.recompile_reason))
    lowering = sum(g.lowering_ns for g in graphs) / 1e9
    return recompiles, FirstCalls(dynamo, max(backend - ours, 0) / 1e9, lowering, sum(g.compile_ns for g in graphs) / 1e9,
                                  sum(g.first_call_ns for g in graphs) / 1e9)


# ---- Text


def text_of(report):
    if not report.graphs and (reason := _inner_api.why_unusable()) is not None:
        return f"The backend pellucid runs no graph: {reason}."
    if not report.graphs:
        return "The backend pellucid has compiled no graph yet. torch.compile(model, backend=\"pellucid\") uses it."
    lines = [f"{counted(len(report.graphs), 'graph')}, {counted(sum(g.programs - g.shared for g in report.graphs), 'program')} "
             f"by Pellucid"]
    lines += summary(report) + [""] + graph_table(report) + fallback_list(report) + recompile_list(report)
    for mismatch in report.mismatches:
        lines += ["", *textwrap.wrap(f"Verification: {mismatch}", WIDTH)]
    return "\n".join(line.rstrip() for line in lines)


def summary(report):
    here, torch = sum(g.ns_here for g in report.graphs), sum(g.ns_torch for g in report.graphs)
    first = report.first_calls
    dynamo = "unknown" if first.dynamo is None else f"{first.dynamo:.2f} s"
    rows = [
        ("nodes", f"{report.nodes_here} of {report.nodes} here ({share(report.nodes_here, report.nodes)})"),
        ("FLOPs", f"{si(report.flops_here)} of {si(report.flops)} here ({share(report.flops_here, report.flops)}); "
                  "matmuls, convolutions and attention, each graph once"),
        ("time of calls", f"{here / 1e6:.1f} ms here, {torch / 1e6:.1f} ms in PyTorch's ops"),
        ("first calls", f"Dynamo {dynamo}, AOTAutograd {first.aot_autograd:.2f} s, Pellucid {first.pellucid:.3f} s"),
        ("  of Pellucid", f"lowering {first.lowering:.3f} s, capture and compile {first.capture_and_compile:.3f} s, "
                          f"first plan and run {first.first_plans_and_runs:.3f} s"),
    ]
    copies = sum(g.copies_for_strides for g in report.graphs)
    if copies:
        rows.append(("copies", f"{counted(copies, 'output')} copied into the strides that PyTorch expects"))
    return [f"  {name:15s} {text}" for name, text in rows]


def graph_table(report):
    header = ("graph", "kind", "nodes", "here", "FLOPs here", "calls", "ms/call here", "in PyTorch", "plans")
    rows = []
    for g in report.graphs:
        calls = max(g.calls, 1)
        rows.append((str(g.number), g.kind, str(g.nodes), str(g.nodes_here), share(g.flops_here, g.flops), str(g.calls),
                     f"{g.ns_here / calls / 1e6:.3f}", f"{g.ns_torch / calls / 1e6:.3f}", str(g.plans)))
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    return ["  ".join(cell.ljust(width) if i == 1 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths)))
            for row in (header, *rows)]


def fallback_list(report):
    if not report.fallbacks:
        return ["", "All ops run here."]
    by_reason = {}
    for fallback in report.fallbacks:
        by_reason.setdefault(fallback.reason, []).append(fallback)
    lines = ["", "Left with PyTorch:"]
    for reason, fallbacks in by_reason.items():
        lines += textwrap.wrap(reason, WIDTH - 2, initial_indent="  ", subsequent_indent="  ")
        for f in fallbacks:
            flops = f", {si(f.flops)}FLOPs" if f.flops else ""
            place = f" at {short_path(f.file)}:{f.line}" if f.file else ""
            lines += textwrap.wrap(f"{f.count} x {f.op}{place}{flops}", WIDTH, initial_indent="    ", subsequent_indent="      ")
    return lines


def recompile_list(report):
    lines = []
    for r in report.recompiles:
        lines += textwrap.wrap(f"{r.function} ({short_path(r.file)}:{r.line}): {r.reason}", WIDTH - 2, initial_indent="  ",
                               subsequent_indent="    ")
    return ["", "Recompiled by Dynamo, because a guard failed:", *lines] if lines else []


def short_path(path):
    """The last two parts of a path: enough to find a file, and short."""
    return os.sep.join(path.split(os.sep)[-2:])


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def si(number):
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.2f} {prefix}"
    return f"{number} "


def explain():
    """Returns what each program in use has compiled, and why."""
    texts = []
    for graph in _session.graphs:
        for i, reference in enumerate(graph.programs):
            program = reference()
            if program is not None:
                part = f", part {i}" if len(graph.programs) > 1 else ""
                texts.append(f"graph {graph.number} ({graph.kind}{part})\n{program.program.explain()}")
    return "\n\n".join(texts) or "There are no programs: call a function that torch.compile has compiled first."
