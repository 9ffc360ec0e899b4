"""Samples of PyTorch's own tests (OpInfo) for every op of torch, compiled and compared with eager; gradients too.

Ops without a rule stay with PyTorch and must be equal as well. A run of all cases also asserts that every overload for which the lowering
has a rule was in some graph.
"""
import functools
import logging

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="OpInfo needs the package expecttest")

logging.disable(logging.WARNING)  # it warns about missing GPUs while it is imported
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

logging.disable(logging.NOTSET)

from comparison import IS_STAND_IN, compare_calls, compare_tensors, compiled, copy_args, forget, share, tensors  # noqa: E402

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool)
MAX_SAMPLES = 3
SHARE = 1 if share() == 1 else 4 * share()  # 703 ops in up to 5 dtypes: a sixth of a second each, and more for gradients

# Results that are not defined, or differ from call to call even with a seed.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
# Not functions of strided tensors on the CPU, or not traceable by any backend.
EXCLUDED_PREFIXES = ("sparse.", "nested", "masked.", "torch.ops.", "_chunk_cat", "to_sparse", "jiterator", "special.airy")
# Results are right in any order, or sign.
UNORDERED = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "svd_lowrank", "pca_lowrank", "linalg.qr", "qr", "geqrf", "symeig",
             "linalg.householder_product", "ormqr", "lobpcg", "linalg.lstsq"}
# Results are elements and their indices. Of several equal elements any index is right.
TIED = {"kthvalue", "topk"}
# Overloads that no sample of an op can bring into a graph, with the reason.
UNREACHABLE: dict[str, str] = {}

CASES = [pytest.param(op, dtype, id=f"{op.formatted_name}-{str(dtype).removeprefix('torch.')}") for op in op_db for dtype in DTYPES
         if dtype in op.supported_dtypes("cpu") and op.name not in UNDEFINED and not op.name.startswith(EXCLUDED_PREFIXES)]
REACHED: set = set()


@pytest.fixture(scope="module", autouse=True)
def record_overloads():
    """Records which overloads come to the lowering."""
    if IS_STAND_IN:
        yield
        return
    from pellucid.torch import _lowering

    original = _lowering.Lowering.__init__

    @functools.wraps(original)
    def recording(self, graph_module, *args, **settings):
        REACHED.update(node.target for node in graph_module.graph.nodes if node.op == "call_function")
        original(self, graph_module, *args, **settings)

    _lowering.Lowering.__init__ = recording
    yield
    _lowering.Lowering.__init__ = original


def samples_of(op, dtype, requires_grad=False):
    """Returns a few of the samples: the first, the last, and those between at equal distances."""
    torch.manual_seed(0)
    found = [sample for sample in op.sample_inputs("cpu", dtype, requires_grad=requires_grad)]
    count = min(len(found), MAX_SAMPLES)
    return [found[index * (len(found) - 1) // max(count - 1, 1)] for index in range(count)]


def call(op, sample):
    return (sample.input, sample.args, sample.kwargs), lambda x, args, kwargs: op(x, *args, **kwargs)


def is_deterministic(function, args):
    """Returns whether two seeds have the same result."""
    results = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        results.append(function(*copy_args(args)))
    return not compare_calls((), results[0], (), results[1], tolerance=0.0)


def elements_for_indices(sample, results):
    """Replaces the indices among the results of kthvalue and topk by the elements that they point to."""
    values, indices = results
    dim = sample.args[1] if len(sample.args) > 1 else sample.kwargs.get("dim", -1)
    wide = indices if indices.dim() == sample.input.dim() else indices.unsqueeze(dim)
    return values, sample.input.detach().gather(dim, wide).reshape(values.shape)


def compare_sample(op, sample, grad):
    args, function = call(op, sample)
    try:
        deterministic = is_deterministic(function, args)
    except Exception:  # a sample that eager refuses
        return []
    forget()
    expected_args, found_args = copy_args(args), copy_args(args)
    with torch.set_grad_enabled(grad):
        expected = function(*expected_args)
        found = compiled(function, dynamic=False)(*found_args)
    if op.name in TIED:
        expected, found = (elements_for_indices(sample, results) for results in (expected, found))
    if not deterministic or op.name in UNORDERED:
        return compare_calls((), [x.new_zeros(x.shape) for x in tensors(expected)], (), [x.new_zeros(x.shape) for x in tensors(found)])
    problems = compare_calls(expected_args, expected, found_args, found, floor=1.0)
    if grad and not problems:
        for outputs in (expected, found):
            differentiable = [output for output in tensors(outputs) if output.requires_grad]
            if not differentiable:
                return problems
            sum((torch.view_as_real(output) if output.is_complex() else output).sum() for output in differentiable).backward()
        for index, (a, b) in enumerate(zip(tensors(expected_args), tensors(found_args))):
            if a.is_leaf and a.requires_grad:
                a_grad, b_grad = (torch.zeros_like(side) if side.grad is None else side.grad for side in (a, b))
                # AOTAutograd chooses other strides than eager for axes of size 1, with any backend.
                problems += compare_tensors(f"gradient of input {index}", a_grad.contiguous(), b_grad.contiguous(), 1e-5, floor=1.0,
                                            all_strides=False)
    return problems


def describe(sample):
    return f"{sample.input}, {sample.args}, {sample.kwargs}"[:600]


@pytest.mark.parametrize(("op", "dtype"), CASES[::SHARE])
def test_samples_equal_eager(op, dtype):
    for sample in samples_of(op, dtype):
        problems = compare_sample(op, sample, grad=False)
        assert not problems, "\n".join([*problems, describe(sample)])
    if dtype == torch.float32 and op.supports_autograd:
        for sample in samples_of(op, dtype, requires_grad=True)[:1]:
            problems = compare_sample(op, sample, grad=True)
            assert not problems, "\n".join([*problems, describe(sample)])


@pytest.mark.skipif(IS_STAND_IN or SHARE != 1, reason="only a run of all cases with Pellucid's backend sees every overload")
def test_every_overload_with_a_rule_was_in_a_graph():
    from pellucid.torch._rules import RULES

    missing = sorted(str(target) for target in RULES if target not in REACHED and str(target) not in UNREACHABLE)
    assert not missing, "\n".join(missing)
