"""Gradients from Python."""
import pytest

import pellucid as pel


def test_backward_fills_grad():
    x = pel.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert x.requires_grad and x.is_leaf and x.grad is None
    y = (x * x).sum()
    assert y.requires_grad and not y.is_leaf
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 6, 8]
    x.grad = None
    assert x.grad is None


def test_backward_takes_a_gradient():
    x = pel.ones(2).requires_grad_()
    (x * 3).backward(pel.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [3, 30]
    with pytest.raises(pel.Error):
        (x * 3).backward()


def test_grad_returns_gradients():
    x, y = pel.tensor(2.0, requires_grad=True), pel.tensor(3.0, requires_grad=True)
    z = x * x * y
    gx, gy = pel.grad(z, [x, y], create_graph=True)
    assert (gx.item(), gy.item()) == (12, 4) and x.grad is None
    assert pel.grad(gx, x)[0].item() == 6
    unused = pel.tensor(1.0, requires_grad=True)
    assert pel.grad(x * 2, [unused], allow_unused=True) == (None,)


def test_no_grad_is_a_context_and_a_decorator():
    x = pel.ones(2).requires_grad_()
    with pel.no_grad():
        assert not pel.is_grad_enabled() and not (x * 2).requires_grad
        with pel.enable_grad():
            assert (x * 2).requires_grad
        with pel.no_grad():
            pass
        assert not (x * 2).requires_grad
    assert pel.is_grad_enabled() and (x * 2).requires_grad

    @pel.no_grad()
    def double(t):
        return t * 2

    assert not double(x).requires_grad and not double(x).requires_grad
    with pel.inference_mode():
        assert pel.is_inference_mode_enabled()
    with pytest.raises(RuntimeError), pel.no_grad():
        raise RuntimeError
    assert pel.is_grad_enabled()


def test_autocast_lowers_matmuls():
    x = pel.randn(4, 4)
    with pel.autocast():
        assert (x @ x).dtype is pel.bfloat16
    with pel.autocast(pel.float16):
        assert (x @ x).dtype is pel.float16
    assert (x @ x).dtype is pel.float32


def test_training_lowers_the_loss():
    pel.manual_seed(1)
    x = pel.randn(64, 3)
    target = x @ pel.tensor([[1.0], [-2.0], [3.0]])
    w = pel.zeros(3, 1).requires_grad_()
    losses = []
    for _ in range(50):
        loss = pel.mse_loss(x @ w, target)
        loss.backward()
        losses.append(loss.item())
        with pel.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    assert losses[-1] < 0.01 * losses[0]


def test_a_late_write_is_reported_with_the_python_line():
    x = pel.ones(2).requires_grad_()
    y = x.exp()
    z = y.sum()
    y.detach().add_(1)
    with pytest.raises(pel.Error) as raised:
        z.backward()
    assert raised.value.code == "E07" and "test_autograd.py" in str(raised.value)


def test_gradients_agree_with_torch():
    torch = pytest.importorskip("torch", reason="the peer")
    a, b = torch.randn(5, 7, requires_grad=True), torch.randn(7, 3, requires_grad=True)
    x, y = (pel.from_dlpack(t.detach()).requires_grad_() for t in (a, b))
    pel.softmax(pel.gelu(x @ y), 1).square().sum().backward()
    torch.softmax(torch.nn.functional.gelu(a @ b), 1).square().sum().backward()
    for ours, theirs in ((x, a), (y, b)):
        assert torch.allclose(torch.from_dlpack(ours.grad), theirs.grad, atol=1e-6)
