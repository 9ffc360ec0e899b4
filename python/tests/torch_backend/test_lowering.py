"""The lowering alone: what a graph becomes, and that two implementations of programs agree on it."""
import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch._dynamo  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from eager_program import EagerProgram  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from pellucid._core import _torch  # noqa: E402
import pellucid.torch  # noqa: E402
from pellucid.torch import _backend, _decompositions  # noqa: E402
from pellucid.torch._lowering import Lowering, Unsupported, arguments_of, lowered_overloads  # noqa: E402
from pellucid.torch._rules import RULES, find_rule  # noqa: E402
from pellucid.torch._sizes import evaluate  # noqa: E402


def graph_of(function, *args, mode="symbolic"):
    traced = torch.func.functionalize(function)
    return make_fx(traced, decomposition_table=_decompositions.table(), tracing_mode=mode)(*args)


def lower(function, *args, mode="symbolic", **settings):
    return Lowering(graph_of(function, *args, mode=mode), find_rule, **settings).run()


def described(function, *args, mode="symbolic", **settings):
    return lower(function, *args, mode=mode, **settings).describe()


def ops_of(description):
    return [op for op, _, _, _ in description.calls]


def run_both(function, *args, mode="symbolic"):
    """Returns the results of the compiled program and of the one that runs op by op."""
    description = described(function, *args, mode=mode)
    results = []
    for program in (_torch.Program, EagerProgram):
        results.append(program(torch.Tensor, *description)([x.clone() for x in args]))
    return results


# ---- Descriptions


def test_arguments_are_complete_and_in_the_order_of_our_schema():
    description = described(lambda x: F.gelu(x) @ x.t() + 2, torch.randn(3, 4))
    for op, arguments, _, _ in description.calls:
        assert len(arguments) == len(arguments_of(op))


def test_sizes_that_are_equal_share_a_symbol():
    description = described(lambda x, y: x + y, torch.randn(5, 7), torch.randn(5, 7))
    assert sorted(description.symbols) == [(("size", 0, 0), 5), (("size", 0, 1), 7)]
    assert description.inputs[0][2] == description.inputs[1][2]
    assert [evaluate(e, [hint for _, hint in description.symbols]) for e in description.inputs[1][2]] == [5, 7]


def test_a_size_that_is_an_expression_is_one():
    description = described(lambda x: x.reshape(x.shape[0] // 2, -1), torch.randn(6, 5))
    sizes = next(arguments[1] for op, arguments, _, _ in description.calls if op == "reshape")
    assert [evaluate(e, [8, 5]) for e in sizes[1]] == [4, 10]


def test_an_unused_input_is_not_read():
    description = described(lambda x, y: x + 1, torch.randn(3), torch.randn(4, 4))
    assert description.inputs[1] == ("unused",)


def test_a_parameter_is_static_unless_it_is_written():
    def step(x, mean):
        return x - mean

    description = described(step, torch.randn(3, 4), torch.randn(4), static=frozenset({1}))
    assert [described_input[4] for described_input in description.inputs] == [False, True]


def test_results_that_are_inputs_and_views_of_inputs_are_not_computed():
    def function(x):
        return x, x.t(), x[1:], x + 1

    description = described(function, torch.randn(3, 4), mode="fake")
    assert description.returns[0] == ("input", 0)
    assert description.returns[1] == ("view", 0, [4, 3], [1, 4], 0)
    assert description.returns[2] == ("view", 0, [2, 4], [4, 1], 4)
    assert description.returns[3] == ("result", 0)


def test_a_mask_of_where_goes_to_attention_as_it_is():
    def attend(q, mask):
        return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    q = torch.randn(2, 4, 8, 16)
    mask = torch.ones(8, 8).tril().bool()
    description = described(attend, q, mask, mode="fake")
    attention = next(arguments for op, arguments, _, _ in description.calls if op == "attention")
    names = [argument.name for argument in arguments_of("attention")]
    argument = attention[names.index("attn_mask")]
    while argument[0] == "value":  # views of the mask
        op, arguments, _, _ = description.calls[argument[1]]
        assert op in ("reshape", "expand")
        argument = arguments[0]
    assert argument == ("input", 1)


def test_a_random_op_draws_from_pellucids_generator():
    lowering = lower(lambda x: torch.native_dropout(x, 0.5, True)[0], torch.randn(3, 4), mode="fake")
    assert lowering.needs_seed
    arguments = next(arguments for op, arguments, _, _ in lowering.describe().calls if op == "native_dropout")
    assert arguments[-2:] == [("none",), ("none",)]


def test_random_numbers_follow_pytorchs_seed_and_need_one_plan():
    dropped = torch.compile(lambda x: F.dropout(x, 0.5), backend=pellucid.torch.backend)
    torch._dynamo.reset()
    pellucid.torch.reset_report()
    x = torch.randn(8, 8)
    results = []
    for seed in (3, 4, 3):
        torch.manual_seed(seed)
        results.append(dropped(x))
    assert torch.equal(results[0], results[2])
    assert not torch.equal(results[0], results[1])
    assert pellucid.torch.report().graphs[0].plans == 1


def test_random_ops_stay_with_pytorch_if_asked():
    lowering = lower(lambda x: F.dropout(x, 0.5), torch.randn(3, 4), mode="fake", random="torch")
    assert "random" in next(iter(lowering.failures.values()))


def test_every_node_has_the_line_of_the_user():
    seen = []

    def collect(graph_module, example_inputs):
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd

        def compiler(graph, inputs):
            seen.append(Lowering(graph, find_rule).run())
            return make_boxed_func(graph.forward)
        return aot_autograd(fw_compiler=compiler, decompositions=_decompositions.table())(graph_module, example_inputs)

    linear = torch.nn.Linear(4, 4)  # its forward is in PyTorch: the line is the caller's

    def function(x):
        y = F.gelu(x)
        return linear(y).sum()

    torch._dynamo.reset()
    torch.compile(function, backend=collect)(torch.randn(3, 4, requires_grad=True)).backward()
    assert len(seen) == 2  # forward and backward
    for lowering in seen:
        for op, _, file, line in lowering.calls:
            assert file == __file__, op
            assert line > 0


def test_an_op_without_a_rule_does_not_stop_the_pass():
    lowering = lower(lambda x: torch.fft.rfft(x).abs() + F.gelu(x).sum(), torch.randn(4), mode="fake")
    failed = {str(node.target) for node in lowering.failures}
    assert "aten._fft_r2c.default" in failed
    assert "aten.gelu.default" not in failed
    with pytest.raises(Unsupported):
        lowering.describe()


@pytest.mark.parametrize(("function", "reason"), [
    (lambda x: x.index_put((x > 0,), x[0]), "mask"),
    (lambda x: torch.logit(x, eps=0.7), "eps"),
    (lambda x: torch.any(x > 0, dim=[]), "empty list"),
])
def test_a_form_that_is_not_supported_says_why(function, reason):
    lowering = lower(function, torch.rand(4, 3), mode="fake")
    assert any(reason in text for text in lowering.failures.values()), lowering.failures


def test_the_key_of_a_description_has_all_its_contents():
    x = torch.randn(4, 6)

    def key_of(function, *args):
        return _backend.key_of(described(function, *args, mode="fake"))

    key = key_of(lambda x: x * 2, x)
    assert key == key_of(lambda x: x * 2, torch.randn(4, 6))
    assert key != key_of(lambda x: x * 2.0, x)
    assert key != key_of(lambda x: x * 3, x)
    assert key != key_of(lambda x: x * 2, torch.randn(4, 7))
    assert key != key_of(lambda x: x * 2, torch.randn(6, 4).t())
    assert _backend.frozen([0.0]) != _backend.frozen([-0.0])
    assert _backend.frozen([True]) != _backend.frozen([1])


def test_no_decomposition_takes_an_op_away_that_has_a_rule():
    assert not set(_decompositions.table()) & set(RULES)
    assert set(lowered_overloads()) == set(RULES)


# ---- Two implementations of programs


PROGRAMS = {
    "elementwise": lambda x: F.gelu(x) * torch.tanh(x) + 2,
    "matmul": lambda x: torch.softmax(x @ x.t(), -1) @ x,
    "reductions": lambda x: (x.sum(0), x.var(1), x.argmax(1), x.logsumexp(0)),
    "sizes": lambda x: x * x.shape[0] + x.numel(),
    "fractions": lambda x: x * (x.shape[0] / (x.shape[1] - 1)),
    "views": lambda x: (x.t().reshape(-1), x.unsqueeze(1).expand(-1, 3, -1), x.flip(0)),
    "indexing": lambda x: (x.index_select(0, torch.tensor([2, 0])), x.gather(1, torch.zeros(4, 2, dtype=torch.long))),
    "masked": lambda x: (x.masked_fill(x > 0, -1.0), torch.where(x > 0, x, 0.0)),
    "transposed result": lambda x: (x * 2).t(),
    "norm": lambda x: F.layer_norm(x, (6,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", ["fake", "symbolic"])
def test_compiled_and_eager_programs_agree(name, mode):
    torch.manual_seed(0)
    x = torch.randn(4, 6)
    expected = PROGRAMS[name](x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for results in run_both(PROGRAMS[name], x, mode=mode):
        for found, wanted in zip(results, expected):
            assert found.dtype == wanted.dtype
            assert found.stride() == wanted.stride()
            torch.testing.assert_close(found, wanted)


# ---- Options


def test_unknown_options_are_listed():
    with pytest.raises(ValueError, match="strict, freeze, verify, random"):
        _backend.parse_options({"fast": True})
    with pytest.raises(ValueError, match="'pellucid' or 'torch'"):
        _backend.parse_options({"random": "numpy"})


def test_the_backend_is_imported_without_pytorch():
    import subprocess
    import sys

    code = "import pellucid.torch, sys; pellucid.torch.backend; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_verify_names_the_op_that_differs(monkeypatch):
    def wrong(lowering, node):
        return lowering.emit("silu", self=node.args[0])

    def function(x):
        return F.gelu(x) @ x.t()

    torch._dynamo.reset()
    pellucid.torch.reset_report()
    monkeypatch.setitem(RULES, torch.ops.aten.gelu.default, wrong)
    x = torch.randn(8, 16)
    with pytest.warns(pellucid.torch.MismatchWarning, match=r"aten\.gelu\.default at .*test_lowering\.py:\d+ differs"):
        found = torch.compile(function, backend=pellucid.torch.backend, options={"verify": True})(x)
    assert torch.equal(found, function(x))  # PyTorch's result is returned
    assert "aten.gelu.default" in str(pellucid.torch.report())
    torch._dynamo.reset()


def test_a_program_that_cannot_be_built_leaves_only_the_op_that_fails(monkeypatch):
    def function(x):
        y = torch.nextafter(x.bfloat16(), x.bfloat16() + 1)  # float32 and float64 only
        return y.float() @ x.t(), math.pi * x

    torch._dynamo.reset()
    pellucid.torch.reset_report()
    x = torch.randn(4, 4)
    with pytest.warns(pellucid.torch.FallbackWarning, match="nextafter"):
        found = torch.compile(function, backend=pellucid.torch.backend)(x)
    for a, b in zip(found, function(x)):
        torch.testing.assert_close(a, b)
    report = pellucid.torch.report()
    assert report.nodes_here > 0
    assert "aten.nextafter.default" in [fallback.op for fallback in report.fallbacks]
    assert all(len(line) <= 100 for line in str(report).splitlines())
