"""Compiles with the backend under test, and compares what a compiled function did with what eager PyTorch does.

PELLUCID_TORCH_BACKEND names another backend to compile with, aot_eager for example: a stand-in that shows whether a test itself
is right. Tests of reports and options are skipped then. PELLUCID_TEST_SHARE=N runs one in N of the cases of tests that have many;
1 runs all.
"""
import contextlib
import copy
import gc
import itertools
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
import torch._dynamo
from torch.utils import _pytree as pytree

BACKEND = os.environ.get("PELLUCID_TORCH_BACKEND", "pellucid")
IS_STAND_IN = BACKEND != "pellucid"
DEFAULT_SHARE = 10

# Largest difference of two results, as a share of the largest element, by the coarser dtype in the computation.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}

needs_pellucid = pytest.mark.skipif(IS_STAND_IN, reason=f"{BACKEND} has neither a report nor the options of Pellucid's backend")


def backend():
    """Returns what torch.compile takes as `backend`. The function itself works without the metadata of an installed package."""
    if IS_STAND_IN:
        return BACKEND
    import pellucid.torch

    return pellucid.torch.backend


def compiled(function, *, dynamic=None, fullgraph=False, **options):
    """Returns the function compiled by the backend under test; `options` are those of Pellucid's backend."""
    given = {} if IS_STAND_IN or not options else {"options": options}
    return torch.compile(function, backend=backend(), dynamic=dynamic, fullgraph=fullgraph, **given)


def forget():
    """Forgets compiled code and what was reported about it."""
    torch._dynamo.reset()
    if not IS_STAND_IN:
        import pellucid.torch

        pellucid.torch.reset_report()
    gc.collect()


def report():
    import pellucid.torch

    return pellucid.torch.report()


def share():
    """Returns N if one in N cases of a test with many is to run."""
    return int(os.environ.get("PELLUCID_TEST_SHARE", DEFAULT_SHARE))


@dataclass
class Shares:
    """Which share of a model ran in Pellucid."""

    nodes: int
    nodes_here: int
    flops: float
    flops_here: float
    fallbacks: list = field(default_factory=list)

    def __str__(self):
        left = "; ".join(f"{entry.op} at {entry.file}:{entry.line}: {entry.reason}" for entry in self.fallbacks) or "none"
        return (f"{self.nodes_here} of {self.nodes} nodes, {self.flops_here:.4g} of {self.flops:.4g} FLOPs; "
                f"left to PyTorch: {left}")


def shares():
    seen = report()
    return Shares(*(sum(getattr(graph, name) for graph in seen.graphs)
                    for name in ("nodes", "nodes_here", "flops", "flops_here")), list(seen.fallbacks))


def tensors(value):
    """Returns the tensors in outputs of models, tuples, lists and dicts, in order."""
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def tolerance_of(*groups):
    """Returns the tolerance for what was computed from and to these tensors: that of the coarsest dtype."""
    found = [TOLERANCE[tensor.dtype] for group in groups for tensor in group if tensor.dtype in TOLERANCE]
    return max(found, default=0.0)


def difference(expected, found):
    """Returns the largest difference of two tensors and the largest finite element of `expected`, as numbers."""
    if expected.numel() == 0:
        return 0.0, 0.0
    wide = torch.complex128 if expected.is_complex() else torch.float64
    expected, found = expected.detach().to(wide), found.detach().to(wide)
    equal = (expected == found) | (expected.isnan() & found.isnan())
    distance = torch.where(equal, 0.0, (expected - found).abs()).nan_to_num(nan=float("inf"), posinf=float("inf"))
    finite = expected.abs()
    finite = finite[finite.isfinite()]
    return distance.max().item(), finite.max().item() if finite.numel() else 0.0


def describe(tensor):
    return f"{tensor.dtype} {tuple(tensor.shape)} with strides {tensor.stride()}"


def strides_that_count(tensor):
    """The strides of axes with several elements; none if there are no elements."""
    return [stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1 and tensor.numel() > 0]


def compare_tensors(name, expected, found, tolerance, floor=0.0, all_strides=True):
    """Returns sentences about what differs. Differences up to tolerance x max(largest element, floor) are allowed.

    all_strides=False: only those that address something. PyTorch's tracing predicts other strides than eager has for some axes
    of one element, and a backend returns what was traced.
    """
    if (expected.layout, expected.device) != (found.layout, found.device):
        return [f"{name}: expected {expected.layout} on {expected.device}, found {found.layout} on {found.device}"]
    if expected.layout != torch.strided or expected.device.type == "meta":
        same = expected.shape == found.shape and expected.dtype == found.dtype
        return [] if same else [f"{name}: expected {expected.dtype} {tuple(expected.shape)}, found {found.dtype} {tuple(found.shape)}"]
    strides = torch.Tensor.stride if all_strides else strides_that_count
    if (expected.dtype, expected.shape, strides(expected)) != (found.dtype, found.shape, strides(found)):
        return [f"{name}: expected {describe(expected)}, found {describe(found)}"]
    if expected.requires_grad != found.requires_grad:
        return [f"{name}: expected requires_grad={expected.requires_grad}, found {found.requires_grad}"]
    exact = not (expected.is_floating_point() or expected.is_complex())
    if expected.is_quantized:
        expected, found = expected.int_repr(), found.int_repr()
    distance, largest = difference(expected, found)
    allowed = 0.0 if exact else tolerance * max(largest, floor)
    if distance > allowed:
        return [f"{name}: differs by {distance:.3g}, {distance / largest if largest else float('inf'):.3g} of the largest element; "
                f"at most {allowed:.3g} is expected"]
    return []


def addresses(tensor):
    """Returns the first and one past the last address of the elements of a tensor."""
    if tensor.layout != torch.strided or tensor.device.type == "meta" or tensor.numel() == 0:
        return 0, 0
    extent = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) + 1
    return tensor.data_ptr(), tensor.data_ptr() + extent * tensor.element_size()


def aliases(named):
    """Returns {(name, name): distance in bytes} of all pairs of tensors that overlap in memory."""
    spans = [(name, *addresses(tensor)) for name, tensor in named]
    return {(a, b): begin_b - begin_a for (a, begin_a, end_a), (b, begin_b, end_b) in itertools.combinations(spans, 2)
            if begin_a < end_b and begin_b < end_a}


def named_tensors(args, outputs):
    return ([(f"input {i}", tensor) for i, tensor in enumerate(tensors(args))]
            + [(f"output {i}", tensor) for i, tensor in enumerate(tensors(outputs))])


def compare_calls(expected_args, expected, found_args, found, tolerance=None, floor=0.0, all_strides=True):
    """Compares outputs, the inputs after the call, and which of them share memory. Returns sentences about what differs."""
    if pytree.tree_structure(expected) != pytree.tree_structure(found):
        return [f"expected outputs of the form {pytree.tree_structure(expected)}, found {pytree.tree_structure(found)}"]
    problems = []
    if tolerance is None:
        tolerance = tolerance_of(tensors(expected_args), tensors(expected))
    left, right = named_tensors(expected_args, expected), named_tensors(found_args, found)
    for (name, a), (_, b) in zip(left, right):
        problems += compare_tensors(name if name.startswith("output") else f"{name} after the call", a, b, tolerance, floor,
                                    all_strides)
    numbers = [[leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, (bool, int, float, str))]
               for value in (expected, found)]
    if numbers[0] != numbers[1] and not all(a == pytest.approx(b, rel=tolerance, nan_ok=True) for a, b in zip(*numbers)):
        problems.append(f"expected the numbers {numbers[0]} among the outputs, found {numbers[1]}")
    if (before := aliases(left)) != (after := aliases(right)):
        problems.append(f"expected these to share memory (distance in bytes): {before}; found {after}")
    return problems


def copy_args(args):
    """Copies arguments with their strides; those that share memory do so in the copy too."""
    storages = {}

    def copied(leaf):
        if not isinstance(leaf, torch.Tensor):
            return copy.deepcopy(leaf)
        if leaf.layout != torch.strided or leaf.device.type == "meta" or leaf.is_quantized:
            return leaf.detach().clone().requires_grad_(leaf.requires_grad)
        source = leaf.untyped_storage()
        if source.data_ptr() not in storages or source.nbytes() == 0:
            storages[source.data_ptr()] = source.clone()
        twin = torch.empty(0, dtype=leaf.dtype).set_(storages[source.data_ptr()], leaf.storage_offset(), leaf.shape, leaf.stride())
        return twin.requires_grad_(leaf.requires_grad)

    return pytree.tree_map(copied, args)


def check_same(function, *args, dynamic=None, grad=False, calls=2, tolerance=None, floor=1.0, before=lambda: None, **options):
    """Asserts that the compiled function does what eager does, `calls` times in a row. Returns the last compiled outputs.

    floor: differences are compared with tolerance x max(largest element, floor); results of cancellation are about 0.
    before: runs before each call, to set a seed for example.
    """
    forget()
    faster = compiled(function, dynamic=dynamic, **options)
    for call in range(calls):
        expected_args, found_args = copy_args(args), copy_args(args)
        with torch.set_grad_enabled(grad):
            before()
            expected = function(*expected_args)
            before()
            found = faster(*found_args)
        problems = compare_calls(expected_args, expected, found_args, found, tolerance, floor)
        assert not problems, f"call {call + 1}:\n  " + "\n  ".join(problems)
    return found


def run_script(script, *, environment=None, seconds=300, is_silent=False):
    """Runs Python code in a fresh process, which may import the files of this folder, and returns what it printed.

    is_silent: asserts that it wrote nothing to stderr but PyTorch's own warnings about this machine.
    """
    environment = {**os.environ, "PELLUCID_TORCH_BACKEND": BACKEND, **(environment or {})}
    paths = [str(Path(__file__).parent), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=environment, capture_output=True,
                           text=True, timeout=seconds)
    assert ended.returncode == 0, f"the process ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
    if is_silent:
        unexpected = [line for line in ended.stderr.splitlines() if "triton not found" not in line and "No CUDA runtime" not in line]
        assert not unexpected, "\n".join(unexpected)
    return ended.stdout


@contextlib.contextmanager
def count_graphs():
    """Counts the graphs that Dynamo passes to backends. The number is in item 0 of what `as` names."""
    from torch._dynamo.utils import counters

    start = counters["stats"]["unique_graphs"]
    seen = [0]
    try:
        yield seen
    finally:
        seen[0] = counters["stats"]["unique_graphs"] - start
