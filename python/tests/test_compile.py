"""Compiled Python functions."""
import json

import pytest

import pellucid as pel


def mlp(x, w):
    return pel.gelu(x @ w) * 2 + 1


def test_results_have_the_bits_of_the_function():
    fast = pel.compile(mlp)
    for rows in (4, 7, 1, 64):
        x, w = pel.randn(rows, 8), pel.randn(8, 16)
        assert (fast(x, w) == mlp(x, w)).all()
    assert fast.compiles <= 2 and fast.plans >= 3 and fast.__wrapped__ is mlp


def test_explain_names_lines_of_python():
    fast = pel.compile(mlp)
    x, w = pel.randn(4, 8), pel.randn(8, 16)
    fast(x, w)
    explanation = fast.explain()
    line = mlp.__code__.co_firstlineno + 1
    assert f"test_compile.py:{line}" in explanation.text(), explanation.text()
    assert json.loads(explanation.json())["schema"] == "pellucid.compile/1"
    assert str(fast.explain(x, w)) and fast.kernels(x, w) and fast.graph()
    assert fast.peak_bytes(pel.randn(512, 8), w) >= 512 * 16 * 4


def test_an_explanation_is_a_page():
    fast = pel.compile(mlp)
    x, w = pel.randn(64, 8), pel.randn(8, 16)
    explanation = fast.explain_measured(x, w)
    kernels = json.loads(explanation.json())["graphs"][0]["kernels"]
    assert kernels and all(kernel["measured_ns"] > 0 for kernel in kernels)
    page = explanation.html("<my function>")
    assert page.startswith("<!DOCTYPE html>") and "<title>&lt;my function&gt;" in page and "test_compile.py" in page
    frame = explanation._repr_html_()
    assert frame.startswith("<iframe ") and "sandbox='allow-scripts'" in frame and frame.count("'") % 2 == 0


def test_results_may_be_tuples_and_lists():
    x = pel.randn(4)
    a, b = pel.compile(lambda t: (t + 1, t * 2))(x)
    assert (a == x + 1).all() and (b == x * 2).all()
    assert isinstance(pel.compile(lambda t: [t + 1])(x), list)
    with pytest.raises(TypeError, match="returns a Tensor"):
        pel.compile(lambda t: 3)(x)
    with pytest.raises(TypeError, match="takes Tensors, not int"):
        pel.compile(lambda t: t)(3)


def test_sizes_stay_symbolic():
    @pel.compile
    def rows_mean(x):
        n = x.shape[0]
        assert isinstance(n, pel.Dim)
        return x.reshape(n * x.shape[1]).sum() / (2 * n)

    for rows in (3, 5, 9):
        x = pel.randn(rows, 2)
        assert abs(rows_mean(x).item() - x.sum().item() / (2 * rows)) < 1e-5
    assert rows_mean.compiles == 1, rows_mean.explain()


def test_a_comparison_of_sizes_is_a_guard():
    @pel.compile
    def f(x):
        return x + 1 if x.shape[0] > 4 else x - 1

    assert f(pel.zeros(3)).tolist() == [-1] * 3 and f(pel.zeros(6)).tolist() == [1] * 6
    assert f.compiles == 2 and "test_compile.py" in f.explain().text()


def test_errors_of_the_function_arrive():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pel.compile(broken)(pel.ones(1))
    with pytest.raises(pel.errors.CaptureError):
        pel.compile(lambda x: x * x.sum().item())(pel.ones(2))


def test_weights_are_read_again():
    w = pel.ones(3)
    f = pel.compile(lambda x: x * w)
    assert f(pel.ones(3)).tolist() == [1, 1, 1]
    w.fill_(5)
    assert f(pel.ones(3)).tolist() == [5, 5, 5]


def test_a_training_step_is_compiled():
    w = pel.ones(3, 1).requires_grad_()

    @pel.compile
    def step(x, y):
        loss = pel.mse_loss(x @ w, y)
        (gradient,) = pel.grad(loss, w)
        with pel.no_grad():
            w.sub_(gradient * 0.1)
        return loss

    pel.manual_seed(3)
    x = pel.randn(32, 3)
    y = x @ pel.tensor([[1.0], [2.0], [3.0]])
    losses = [step(x, y).item() for _ in range(30)]
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize("compare", [
    lambda n: n == 3, lambda n: n != 3, lambda n: n < 3, lambda n: n <= 3, lambda n: n > 3, lambda n: n >= 3, lambda n: 3 < n])
def test_a_guard_names_the_line_of_python_that_compared(compare):
    def branch(x):
        return x * 2 if compare(x.shape[0]) else x

    compiled = pel.compile(branch)
    compiled(pel.ones(3))
    guards = json.loads(compiled.explain().json())["graphs"][0]["guards"]
    line = compare.__code__.co_firstlineno
    assert [guard["source"] for guard in guards] == [f"test_compile.py:{line}"]
