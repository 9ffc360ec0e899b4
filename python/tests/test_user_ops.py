"""Ops of the user's own: elementwise ones from Python functions, and those of a C++ library."""
import inspect
import math
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest

import pellucid as pel

ROOT = Path(__file__).resolve().parents[2]


@pel.op
def softclip(x, limit=1.0):
    """Clips smoothly to [-limit, limit]."""
    return limit * pel.tanh(x / limit)


def test_an_op_has_a_schema_a_signature_and_documentation():
    assert softclip.schema.startswith("user::softclip(Tensor x, Scalar limit=1") and softclip.__name__ == "softclip"
    assert list(inspect.signature(softclip).parameters) == ["x", "limit"]
    assert "Clips smoothly" in softclip.__doc__ and "Formula: limit * tanh(x / limit)" in softclip.__doc__
    assert isinstance(softclip, pel.Op) and pel.find_op("user::softclip") is softclip
    assert pickle.loads(pickle.dumps(softclip)) is softclip


def test_an_op_has_the_bits_of_the_ops_in_its_formula():
    for dtype in (pel.float32, pel.float64):
        x = pel.randn(3, 5, dtype=dtype) * 4
        assert (softclip(x) == 1.0 * pel.tanh(x / 1.0)).all()
        assert (softclip(x.t(), limit=2.5) == 2.5 * pel.tanh(x.t() / 2.5)).all() and softclip(x).dtype is dtype
    assert softclip(pel.arange(0, 3)).dtype is pel.float32
    half = pel.randn(8).to(pel.float16)
    assert (softclip(half) == (1.0 * pel.tanh(half.to(pel.float32) / 1.0)).to(pel.float16)).all()  # rounded once


def test_two_tensors_broadcast_and_promote():
    @pel.op(name="tests::mix")
    def mix(x, y, share=0.25):
        return share * x + (1 - share) * y

    a, b = pel.randn(4, 1), pel.randn(3, dtype=pel.float64)
    result = mix(a, b, 0.5)
    assert result.shape == (4, 3) and result.dtype is pel.float64
    assert (result == 0.5 * a + (1 - 0.5) * b).all()
    assert (mix(a, 2.0, share=0.5) == 0.5 * a + 0.5 * 2.0).all()  # a number for a tensor
    with pytest.raises(ValueError) as raised:
        mix(pel.ones(2), pel.ones(3))
    assert raised.value.code == "E01" and raised.value.op == "tests::mix" and "test_user_ops.py" in raised.value.line
    with pytest.raises(TypeError, match="y is missing"):
        mix(a)


def test_compiled_functions_fuse_it_with_the_same_bits():
    def function(x, y):
        return softclip(x @ y + 1, 3.0).exp() * 2

    fast = pel.compile(function)
    for rows in (4, 9, 33):
        x, y = pel.randn(rows, 8), pel.randn(8, 7)
        assert (fast(x, y) == function(x, y)).all()
    text = fast.explain().text()
    assert fast.compiles == 1 and "user::softclip" in text and len(fast.kernels(x, y)) == 1, text


def test_comparisons_conditions_and_integers():
    @pel.op(name="tests::bump")
    def bump(x, width=1.0):
        inside = (abs(x) < width) & ~(x == 0)
        return pel.where(inside, pel.exp(-1 / (1 - (x / width) ** 2)), 0)

    x = pel.linspace(-2, 2, 41)
    expected = [0 if abs(v) >= 1 or v == 0 else math.exp(-1 / (1 - v * v)) for v in x.tolist()]
    assert max(abs(a - b) for a, b in zip(bump(x).tolist(), expected)) < 1e-6

    @pel.op(name="tests::is_small")
    def is_small(x, limit=1.0):
        return (x > -limit) & (x < limit)

    assert is_small(pel.tensor([0.5, 2.0])).tolist() == [True, False] and is_small(x).dtype is pel.bool

    @pel.op(name="tests::clamped_sum", dtypes=[pel.int32, pel.int64])
    def clamped_sum(x, y):
        return pel.minimum(x + y, 10)

    assert clamped_sum(pel.tensor([1, 9]), pel.tensor([2, 2])).tolist() == [3, 10]
    with pytest.raises(TypeError, match="computes in"):
        clamped_sum(pel.ones(2), pel.ones(2))


def numeric_gradient(function, x, step=1e-6):
    with pel.no_grad():
        return (function(x + step) - function(x - step)) / (2 * step)


FORMULAS = {
    "exp log1p": lambda x: pel.log1p(pel.exp(x)),
    "div sqrt": lambda x: x / pel.sqrt(x * x + 1),
    "pow": lambda x: (x * x + 0.5) ** 1.5 + 2 ** x + (x * x + 1) ** x,
    "square reciprocal": lambda x: (x + 4) ** -1 + x ** 2 + (x + 4) ** 0.5 + (x + 4) ** -0.5,
    "abs max min": lambda x: abs(x) + pel.maximum(x, 0.25) - pel.minimum(x * 2, 0.1) + pel.clamp(x, -0.5, 0.5),
    "trigonometry": lambda x: pel.sin(x) * pel.cos(x) + pel.tan(x / 4) + pel.atan(x) + pel.asin(x / 4) - pel.acos(x / 4),
    "hyperbolic": lambda x: pel.sinh(x) + pel.cosh(x) * pel.tanh(x) + pel.asinh(x) + pel.atanh(x / 4) + pel.acosh(x + 5),
    "logarithms": lambda x: pel.log(x + 4) + pel.log2(x + 4) + pel.log10(x + 4) + pel.exp2(x) + pel.expm1(x),
    "error function": lambda x: pel.erf(x) + pel.erfc(x * x) + pel.sigmoid(x) + pel.log_sigmoid(x),
    "activations": lambda x: pel.relu(x) + pel.silu(x) + pel.gelu(x),
    "two": lambda x: pel.atan2(x, x * x + 1) + pel.hypot(x, 2) + pel.logaddexp(x, x * 2) + pel.where(x > 0, x, -2 * x),
    "steps": lambda x: x * pel.floor(x) + pel.where((x > 0) | (x < -1), x * x, x),
    "methods": lambda x: x.tanh().exp() - x.neg(),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_are_derived_and_have_gradients(name):
    formula = FORMULAS[name]
    op = pel.op(formula, name="tests::formula_" + name.replace(" ", "_"))
    x = pel.tensor([-1.3, -0.7, -0.3, 0.2, 0.6, 1.1], dtype=pel.float64, requires_grad=True)
    assert (op(x) - formula(x)).abs().amax().item() < 1e-12  # the function itself, with tensors
    (gradient,) = pel.grad(op(x).sum(), x, create_graph=True)
    (expected,) = pel.grad(formula(x).sum(), x)
    assert (gradient - expected).abs().amax().item() < 1e-9
    assert (gradient - numeric_gradient(op, x)).abs().amax().item() < 1e-6
    (second,) = pel.grad(gradient.sum(), x, allow_unused=True)
    second = pel.zeros_like(x) if second is None else second  # of straight lines
    assert (second - second_difference(op, x)).abs().amax().item() < 1e-3


def second_difference(function, x, step=1e-4):
    with pel.no_grad():
        return (function(x + step) - 2 * function(x) + function(x - step)) / step ** 2


def test_gradients_of_several_tensors_are_summed_over_broadcast_axes():
    @pel.op(name="tests::gate")
    def gate(x, y, power=2.0):
        return x * pel.sigmoid(y * power)

    x, y = pel.randn(4, 3).requires_grad_(), pel.randn(3).requires_grad_()
    gate(x, y, power=3.0).sum().backward()
    a, b = x.detach().requires_grad_(), y.detach().requires_grad_()
    (a * pel.sigmoid(b * 3.0)).sum().backward()
    assert (x.grad - a.grad).abs().amax().item() < 1e-6 and (y.grad - b.grad).abs().amax().item() < 1e-5
    assert y.grad.shape == (3,)


def test_a_gradient_may_be_given():
    @pel.op(name="tests::straight_through", gradient=lambda grad, x, scale: grad)
    def rounded(x, scale=1.0):
        return pel.round(x / scale) * scale

    x = pel.tensor([0.4, 1.6], requires_grad=True)
    rounded(x).sum().backward()
    assert rounded(x).tolist() == [0.0, 2.0] and x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="returned 2 values, and the op has 1 tensors"):
        pel.op(lambda x: x * 2, name="tests::wrong", gradient=lambda grad, x: (grad, grad))


def test_a_gradient_inside_of_compile_has_the_same_bits():
    w = pel.randn(5).requires_grad_()

    def step(x):
        w.grad = None
        softclip(x * w, 2.0).sum().backward()
        return w.grad

    x = pel.randn(7, 5)
    expected = step(x).clone()
    assert (pel.compile(step)(x) == expected).all()


def test_a_cell_may_be_run_again():
    first = pel.op(lambda x: x + 1, name="tests::cell")
    same = pel.op(lambda x: x + 1, name="tests::cell")
    changed = pel.op(lambda x: x + 2, name="tests::cell")
    assert same is first and changed is not first
    assert first(pel.zeros(1)).item() == 1 and changed(pel.zeros(1)).item() == 2


def test_errors_say_what_to_do():
    with pytest.raises(TypeError, match="cannot branch on one: use pellucid.where") as raised:
        pel.op(lambda x: x if x > 0 else -x, name="tests::branch")
    assert raised.value.code == "E04"
    weight = pel.ones(3)
    for wrong in (lambda x: x * weight, lambda x: weight * x, lambda x: pel.add(x, weight)):
        with pytest.raises(TypeError, match="pass the tensor as an argument"):
            pel.op(wrong, name="tests::closure")
    with pytest.raises(pel.Error, match="uses sum, which is not a built-in elementwise op"):
        pel.op(lambda x: x / pel.sum(x), name="tests::reduction")
    with pytest.raises(pel.Error, match="uses exp, which computes in"):
        pel.op(lambda x: pel.exp(x), name="tests::whole", dtypes=[pel.int64])
    with pytest.raises(TypeError, match="got str"):
        pel.op(lambda x: x + "1", name="tests::text")
    with pytest.raises(TypeError, match=r"not \*x"):
        pel.op(lambda *x: x[0], name="tests::many")
    with pytest.raises(TypeError, match="a parameter with a default is a number"):
        pel.op(lambda x, y=None: x, name="tests::default")
    with pytest.raises(pel.Error, match="already") as raised:
        pel._core._register_elementwise("user::softclip(Tensor x) -> Tensor", [("exp", (0,))], [pel.float32],
                                        {"arguments": ["x"], "functions": {}, "constant": []}, "")
    assert raised.value.code == "E10"


LIBRARY = """
#include <pellucid/pellucid.h>
namespace demo {
using namespace pel;
Tensor twice_body(const Tensor& x) { return x + x; }
const Op& twice = register_op(define_op<twice_body>(OpKind::Composite, "demo::twice(Tensor x) -> Tensor"));
const Op& scaled_tanh = register_op(
    define_elementwise("demo::scaled_tanh(Tensor x, Tensor y) -> Tensor", {{"tanh", {1}}, {"mul", {0, 2}}})
        .vjp("x", "y", [](const Vjp& v) { return v.grad() * tanh(v["y"]); }).no_vjp("y"));
}  // namespace demo
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_library_in_cpp_registers_ops(tmp_path):
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    ours = next(line.split()[-1] for line in maps.splitlines() if "libpellucid" in line)
    source, library = tmp_path / "demo.cc", tmp_path / "libdemo.so"
    source.write_text(LIBRARY, encoding="utf-8")
    subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}", str(source), ours, "-o", str(library)],
                   check=True)
    twice, scaled_tanh = pel.load_library(library)
    assert pel.load_library(library) == (twice, scaled_tanh) and pel.find_op("demo::twice") is twice
    x, y = pel.randn(4).requires_grad_(), pel.randn(4)
    assert (twice(x) == x + x).all()
    fast = pel.compile(lambda x, y: scaled_tanh(x, y) + 1)
    assert (scaled_tanh(x, y) == x * pel.tanh(y)).all() and (fast(x.detach(), y) == scaled_tanh(x.detach(), y) + 1).all()
    scaled_tanh(x, y).sum().backward()
    assert (x.grad == pel.tanh(y)).all()
    with pytest.raises(OSError):
        pel.load_library(tmp_path / "missing.so")
    empty = tmp_path / "libempty.so"
    subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", str(empty)], check=True)
    with pytest.raises(pel.Error, match="registered no op"):
        pel.load_library(empty)
