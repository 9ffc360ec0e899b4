"""Training: dropout, autocast, gradient accumulation, checkpoints, a compiled optimizer, gradients of gradients."""
import copy
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch.nn.functional as F  # noqa: E402
import zoo  # noqa: E402
from comparison import IS_STAND_IN, compare_tensors, compiled, forget, needs_pellucid, report  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


def mlp(width=16):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, width))


def assert_same_gradients(expected, found, tolerance=1e-5):
    problems = []
    for (name, a), (_, b) in zip(expected.named_parameters(), found.named_parameters()):
        problems += compare_tensors(f"gradient of {name}", a.grad, b.grad, tolerance)
    assert not problems, "\n".join(problems)


@pytest.fixture(autouse=True)
def fresh():
    forget()


class Dropped(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return F.dropout(x, self.rate, training=True) * 2


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_follows_the_seed_and_its_rate(rate):
    faster = compiled(Dropped(rate))
    x = torch.ones(400, 500, requires_grad=True)
    drawn = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        drawn.append(faster(x))
    following = faster(x)
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[2], following)
    for y in (drawn[0], drawn[2], following):
        dropped = (y == 0).double().mean().item()
        # Six standard deviations of the share of 200,000 elements.
        assert abs(dropped - rate) < 6 * (rate * (1 - rate) / y.numel()) ** 0.5
        assert torch.allclose(y[y != 0], torch.tensor(2 / (1 - rate)))
    drawn[2].sum().backward()
    assert torch.equal(x.grad != 0, drawn[2] != 0), "backward drops other elements than forward"


def test_dropout_left_to_pytorch_draws_the_numbers_of_eager():
    model = Dropped(0.3)
    faster = compiled(model, random="torch")
    x = torch.randn(50, 60)
    torch.manual_seed(5)
    expected = model(x)
    torch.manual_seed(5)
    assert torch.equal(faster(x), expected)


@pytest.mark.skipif(IS_STAND_IN, reason="aot_eager draws from PyTorch's generator in its own way")
@pytest.mark.parametrize("draw", [torch.rand_like, torch.randn_like, torch.bernoulli], ids=lambda f: f.__name__)
def test_random_numbers_have_the_right_mean_and_deviation(draw):
    faster = compiled(lambda x: draw(x) + 0)
    x = torch.full((300, 400), 0.5)
    torch.manual_seed(0)
    y = faster(x).double()
    mean, deviation = {"rand_like": (0.5, 12**-0.5), "randn_like": (0.0, 1.0), "bernoulli": (0.5, 0.5)}[draw.__name__]
    assert abs(y.mean().item() - mean) < 6 * deviation / y.numel() ** 0.5
    assert abs(y.std().item() - deviation) < 0.01


def test_autocast_to_bf16_is_that_of_eager():
    eager, x = mlp(), torch.randn(8, 16)
    model = copy.deepcopy(eager)
    faster = compiled(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected, found = eager(x), faster(x)
    assert found.dtype == expected.dtype == torch.bfloat16
    assert not compare_tensors("the result", expected, found, 2e-2)
    for output in (expected, found):
        output.float().square().mean().backward()
    assert_same_gradients(eager, model, tolerance=2e-2)


def test_autocast_inside_of_the_function_is_that_of_eager():
    def function(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
        return y, y.float().softmax(-1)

    x, w = torch.randn(8, 16), torch.randn(16, 8)
    for expected, found in zip(function(x, w), compiled(function)(x, w)):
        assert not compare_tensors("the result", expected, found, 2e-2)


def test_gradients_accumulate():
    eager, batches = mlp(), [torch.randn(8, 16) for _ in range(3)]
    model = copy.deepcopy(eager)
    faster = compiled(model)
    for x in batches:
        eager(x).square().mean().backward()
        faster(x).square().mean().backward()
    assert_same_gradients(eager, model)


def test_a_second_backward_through_a_retained_graph_accumulates():
    eager, x = mlp(), torch.randn(8, 16)
    model = copy.deepcopy(eager)
    faster = compiled(model)
    for network in (eager, lambda x: faster(x)):
        loss = network(x).square().mean()
        loss.backward(retain_graph=True)
        loss.backward()
    assert_same_gradients(eager, model)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = mlp(), mlp()

    def forward(self, x):
        x = checkpoint(self.first, x, use_reentrant=False)
        return checkpoint(self.second, x, use_reentrant=False)


def test_checkpointed_blocks_have_the_gradients_of_eager():
    eager, x = Checkpointed(), torch.randn(8, 16)
    model = copy.deepcopy(eager)
    faster = compiled(model)
    expected, found = eager(x), faster(x)
    assert not compare_tensors("the result", expected, found, 1e-5)
    expected.square().mean().backward()
    found.square().mean().backward()
    assert_same_gradients(eager, model)


def test_a_checkpoint_around_a_compiled_block_has_the_gradients_of_eager():
    eager, x = mlp(), torch.randn(8, 16)
    model = copy.deepcopy(eager)
    faster = compiled(model)
    checkpoint(eager, x, use_reentrant=False).square().mean().backward()
    checkpoint(faster, x, use_reentrant=False).square().mean().backward()
    assert_same_gradients(eager, model)


def test_gradients_of_attention_are_right_for_sizes_that_come_later():
    """What attention saves has other strides than traced. They depend on the sizes of the call."""
    function = lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True)  # noqa: E731
    faster = compiled(function, dynamic=True)
    for batch, length in ((2, 8), (3, 12), (5, 7)):
        inputs = [torch.randn(batch, 4, length, 16).requires_grad_()]
        inputs.append(inputs[0].detach().clone().requires_grad_())
        for forward, q in zip((function, faster), inputs):
            forward(q).square().sum().backward()
        assert not compare_tensors(f"the gradient of {batch} x {length}", inputs[0].grad, inputs[1].grad, 1e-5)


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=torch.tensor(1e-2), weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_a_compiled_optimizer_are_those_of_eager(name):
    eager = mlp()
    model = copy.deepcopy(eager)
    optimizers = [OPTIMIZERS[name](network.parameters()) for network in (eager, model)]
    steps = [optimizers[0].step, compiled(optimizers[1].step)]
    torch.manual_seed(1)
    for x in torch.randn(3, 8, 16):
        for network, optimizer, step in zip((eager, model), optimizers, steps):
            optimizer.zero_grad()
            network(x).square().mean().backward()
            step()
    problems = []
    for (parameter, a), (_, b) in zip(eager.named_parameters(), model.named_parameters()):
        problems += compare_tensors(parameter, a, b, 1e-5)
    assert not problems, "\n".join(problems)


def test_a_loop_of_training_reaches_the_losses_of_eager():
    eager = mlp()
    model = copy.deepcopy(eager)
    torch.manual_seed(1)
    batches = torch.randn(10, 8, 16)
    losses = []
    for network, forward in ((eager, eager), (model, compiled(model))):
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
        seen = []
        for x in batches:
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(forward(x), x)
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        losses.append(seen)
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def test_gradients_of_inputs_and_frozen_weights():
    eager = mlp()
    for parameter in eager[0].parameters():
        parameter.requires_grad_(False)
    model = copy.deepcopy(eager)
    faster = compiled(model)
    torch.manual_seed(1)
    inputs = [torch.randn(8, 16).requires_grad_() for _ in range(2)]
    inputs[1].data.copy_(inputs[0].data)
    for forward, x in zip((eager, faster), inputs):
        forward(x).square().mean().backward()
    assert not compare_tensors("gradient of the input", inputs[0].grad, inputs[1].grad, 1e-5)
    assert model[0].weight.grad is None
    assert not compare_tensors("gradient of a weight", eager[3].weight.grad, model[3].weight.grad, 1e-5)


def test_a_gradient_of_a_gradient_is_right_or_refused_by_pytorch():
    """AOTAutograd has no double backward: PyTorch raises, for every backend."""
    function = lambda x: torch.tanh(x).square().sum()  # noqa: E731
    x = torch.randn(4, 6, requires_grad=True)
    gradient, = torch.autograd.grad(function(x), x, create_graph=True)
    expected, = torch.autograd.grad(gradient.sum(), x)
    faster = compiled(function)
    try:
        gradient, = torch.autograd.grad(faster(x), x, create_graph=True)
        found, = torch.autograd.grad(gradient.sum(), x)
    except RuntimeError as error:
        assert re.search("double backward|not have been used in the graph", str(error))
    else:
        assert not compare_tensors("the second gradient", expected, found, 1e-5)


@needs_pellucid
def test_forward_and_backward_are_reported_apart():
    example = zoo.example("geglu")
    compiled(example.model)(**example.inputs).square().sum().backward()
    assert [graph.kind for graph in report().graphs] == ["forward", "backward"], str(report())
