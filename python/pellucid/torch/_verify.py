"""The option verify: PyTorch runs each program's graph too, and the first op that differs is named."""
from __future__ import annotations

import math

import torch
from torch import fx

from . import _report
from ._lowering import Description, Lowering, Unsupported, location_of
from ._rules import find_rule

# Differences that rounding explains, relative to the largest element. Reductions and fused ops round in another order.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


class VerificationError(RuntimeError):
    """A program computes something else than PyTorch, and the option `strict` is on too."""


def difference(found, expected):
    """Returns how two tensors differ, as a clause, or None if they agree within the tolerance of their dtype."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"it is {found.dtype}{list(found.shape)} here and {expected.dtype}{list(expected.shape)} in PyTorch"
    if expected.numel() == 0:
        return None
    if not expected.dtype.is_floating_point:
        count = int((found != expected).sum())
        return f"{count} of {expected.numel()} elements are not equal" if count else None
    found, wide = found.double(), expected.double()
    if not torch.equal(torch.isnan(found), torch.isnan(wide)) or not torch.equal(torch.isinf(found), torch.isinf(wide)):
        return "other elements are NaN or infinite"
    finite = torch.isfinite(wide)
    largest = wide[finite].abs().max().item() if bool(finite.any()) else 0.0
    worst = (found[finite] - wide[finite]).abs().max().item() if bool(finite.any()) else 0.0
    if worst > TOLERANCES[expected.dtype] * max(largest, math.sqrt(torch.finfo(expected.dtype).tiny)):
        return f"the largest difference is {worst:.3g}, where the largest element is {largest:.3g}"
    return None


def verified(run, graph_module, written, static, make_program, strict):
    """Returns a boxed callable that runs a program, compares its results with PyTorch's, and returns PyTorch's if they differ.

    written: numbers of the inputs that the graph writes. make_program(description): builds a program.
    """
    reported = False

    def call(args):
        nonlocal reported
        inputs = list(args)
        before = [x.clone() if i in written else x for i, x in enumerate(inputs)]
        results = run(args)
        again = [x.clone() if i in written else x for i, x in enumerate(before)]
        expected = flat(graph_module(*again))
        found = [difference(a, b) for a, b in zip(results, expected) if isinstance(a, torch.Tensor)]
        found += [difference(inputs[i], again[i]) for i in written]
        wrong = next((clause for clause in found if clause is not None), None)
        if wrong is None:
            return results
        if not reported:
            reported = True
            text = first_difference(graph_module, before, static, make_program) or f"a result of a graph differs: {wrong}"
            _report.session().add_mismatch(text)
            if strict:
                raise VerificationError(text)
        for i in written:
            inputs[i].copy_(again[i])
        return expected
    return call


def flat(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


class Recorder(fx.Interpreter):
    """Runs a graph and keeps the value of each node."""

    def __init__(self, graph_module):
        super().__init__(graph_module, garbage_collect_values=False)
        self.found = {}

    def run_node(self, node):
        value = super().run_node(node)
        if isinstance(value, torch.Tensor):
            # A copy: a later node may write it.
            self.found[node] = value.clone()
        return value


def first_difference(graph_module, inputs, static, make_program):
    """Runs the graph with all values as results, here and in PyTorch. Returns a sentence about the first that differs."""
    recorder = Recorder(graph_module)
    recorder.run(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    lowering = Lowering(graph_module, find_rule, static=static, random="torch").run()
    nodes = [node for node in recorder.found if node.op == "call_function" and node in lowering.values]
    outputs, kept = [], []
    for node in nodes:
        try:
            lowered = lowering.tensor(node)
        except Unsupported:
            continue
        if lowered[0] in ("value", "input"):
            outputs.append((lowered, None, None))
            kept.append(node)
    described = lowering.describe()
    description = Description(described.symbols, lowering.inputs(), described.calls, outputs,
                              [("result", i) for i in range(len(outputs))])
    results = make_program(description)([x.clone() if isinstance(x, torch.Tensor) else x for x in inputs])
    for node, result in zip(kept, results):
        clause = difference(result, recorder.found[node])
        if clause is not None:
            file, line = location_of(node)
            return f"{_report.op_name(node)} at {file}:{line} differs from PyTorch: {clause}."
    return None
