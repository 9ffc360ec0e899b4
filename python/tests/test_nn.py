"""Modules and optimizers, against PyTorch's if it is installed."""
import math

import numpy as np
import pytest

import pellucid as pel
from pellucid import nn, optim


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.norm = nn.RMSNorm(8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 3, bias=False)
        self.scale = nn.Parameter(pel.ones(3))
        self.register_buffer("count", pel.zeros(()))

    def forward(self, x):
        return self.down(pel.silu(self.up(self.norm(self.embedding(x))))) * self.scale


def test_parameters_have_paths_and_are_found():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "embedding.weight", "norm.weight", "up.weight", "up.bias", "down.weight"]
    assert list(net.state_dict()) == [
        "scale", "embedding.weight", "norm.weight", "up.weight", "up.bias", "down.weight", "count"]
    assert net.state_dict()["up.weight"].data_ptr() == net.up.weight.data_ptr()
    assert all(parameter.requires_grad for parameter in net.parameters()) and net.down.bias is None
    assert [name for name, _ in net.named_modules()] == ["", "embedding", "norm", "up", "down"]
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    assert len(list(tied.parameters())) == 3 and len(tied.state_dict()) == 4 and len(tied) == 2
    assert "(0): Linear(4, 4, bias=True)" in repr(tied)


def test_attributes_may_change_and_be_deleted():
    net = Net()
    net.down = nn.Identity()
    assert "down.weight" not in dict(net.named_parameters())
    del net.scale
    assert "scale" not in net.state_dict()
    with pytest.raises(AttributeError, match="Net has no attribute scale"):
        net.scale
    net.up.weight.requires_grad_(False)
    assert "up.weight" in net.state_dict() and "up.weight" in dict(net.named_parameters())

    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Identity()

    with pytest.raises(AttributeError, match="super"):
        Early()
    with pytest.raises(NotImplementedError, match="Module has no forward"):
        nn.Module()(1)


def test_states_are_loaded_and_checked():
    a, b = Net(), Net()
    b.load_state_dict(a.state_dict())
    x = pel.tensor([[1, 2, 10]])
    assert (a(x) == b(x)).all()
    state = a.state_dict()
    del state["up.bias"]
    state["other"] = pel.ones(1)
    with pytest.raises(ValueError, match="it lacks up.bias; it has, and the module has not, other") as raised:
        b.load_state_dict(state)
    assert raised.value.code == "E04"
    b.load_state_dict(state, strict=False)
    with pytest.raises(ValueError, match=r"down.weight has the sizes \(3, 16\)"):
        b.load_state_dict({**a.state_dict(), "down.weight": pel.ones(2)})
    b.load_state_dict({name: value.numpy() for name, value in a.state_dict().items()})


def test_modes_dtypes_and_gradients():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    x = pel.randn(8, 4)
    net(x).sum().backward()
    assert net[0].weight.grad is not None and net[2].num_batches_tracked.item() == 1
    net.zero_grad()
    assert net[0].weight.grad is None
    net.eval()
    assert not net[1].training and (net(x) == net(x)).all() and net[2].num_batches_tracked.item() == 1
    net.to(pel.bfloat16)
    assert net[0].weight.dtype is pel.bfloat16 and net[0].weight.requires_grad
    assert net[2].num_batches_tracked.dtype is pel.int64
    seen = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Dropout", "BatchNorm1d", "Sequential"]


def test_initial_values_have_pytorchs_distributions():
    pel.manual_seed(1)
    weight = nn.Linear(400, 300).weight.detach()
    bound = 1 / math.sqrt(400)
    assert weight.amax().item() <= bound and weight.amin().item() >= -bound
    assert abs(weight.std().item() - bound / math.sqrt(3)) < bound / 50
    weight = nn.Conv2d(8, 16, 3).weight.detach()
    assert weight.shape == (16, 8, 3, 3) and weight.abs().amax().item() <= 1 / math.sqrt(72)
    assert abs(nn.Embedding(100, 100).weight.detach().std().item() - 1) < 0.05


LAYERS = [
    (lambda m: m.Linear(5, 7), (2, 3, 5)), (lambda m: m.Linear(5, 7, bias=False), (2, 5)),
    (lambda m: m.LayerNorm(6), (3, 6)), (lambda m: m.LayerNorm((2, 6), bias=False), (3, 2, 6)),
    (lambda m: m.RMSNorm(6), (3, 6)), (lambda m: m.RMSNorm(6, eps=1e-3), (3, 6)), (lambda m: m.GroupNorm(2, 4), (3, 4, 5)),
    (lambda m: m.BatchNorm1d(4), (6, 4)), (lambda m: m.BatchNorm2d(4, momentum=0.3), (2, 4, 3, 3)),
    (lambda m: m.Conv1d(3, 4, 3, padding=1), (2, 3, 8)), (lambda m: m.Conv2d(4, 6, 3, stride=2, groups=2), (2, 4, 9, 9)),
    (lambda m: m.Conv2d(4, 6, (3, 1), dilation=2, bias=False), (2, 4, 9, 9)), (lambda m: m.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    (lambda m: m.MaxPool2d(2), (1, 2, 6, 6)), (lambda m: m.AvgPool2d(3, stride=2, padding=1), (1, 2, 6, 6)),
    (lambda m: m.Flatten(), (2, 3, 4)), (lambda m: m.Softmax(dim=1), (2, 3)), (lambda m: m.GELU("tanh"), (2, 3)),
    (lambda m: m.Sequential(m.ReLU(), m.SiLU(), m.Sigmoid(), m.Tanh(), m.GELU(), m.Identity()), (2, 3)),
]


@pytest.mark.parametrize("number", range(len(LAYERS)))
def test_layers_agree_with_pytorch(number):
    torch = pytest.importorskip("torch")
    make, sizes = LAYERS[number]
    ours, theirs = make(nn), make(torch.nn)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    data = np.random.default_rng(number).standard_normal(sizes).astype(np.float32)
    x, t = pel.tensor(data).requires_grad_(), torch.tensor(data, requires_grad=True)
    for mode in (True, False):
        ours.train(mode), theirs.train(mode)
        a, b = ours(x), theirs(t)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=2e-5, rtol=1e-5)
    weights = np.random.default_rng(99).standard_normal(a.shape).astype(np.float32)
    (a * pel.tensor(weights)).sum().backward()
    (b * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), atol=5e-5, rtol=1e-4)
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters()):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), atol=1e-4, rtol=1e-4, err_msg=name)
    for (name, mine), other in zip(ours.named_buffers(), theirs.buffers()):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), atol=1e-5, err_msg=name)


def test_a_profile_has_rows_by_module():
    net, other = Net(), nn.Linear(2, 2)
    x = pel.tensor([[1, 2, 10]])
    with pel.Profile() as profile:
        net(x)
        other(pel.ones(1, 2))
        net(x)
    rows = {row.name: row for row in profile.rows("module")}
    assert {name: row.calls for name, row in rows.items()} == {"model": 3, "embedding": 2, "norm": 2, "up": 2, "down": 2}
    assert rows["up"].kernels >= 2


def test_losses():
    logits, target = pel.randn(4, 3), pel.tensor([0, 2, 1, 1])
    assert (nn.CrossEntropyLoss()(logits, target) == pel.cross_entropy(logits, target)).all()
    assert nn.CrossEntropyLoss(reduction="none")(logits, target).shape == (4,)
    assert (nn.MSELoss()(logits, logits * 0) == (logits * logits).mean()).all()
    assert [len(module) for module in (nn.ModuleList([nn.ReLU()]).append(nn.Tanh()),)] == [2]


OPTIMIZERS = [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "weight_decay": 1e-2}), ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}),
    ("Adam", {"lr": 1e-2}), ("Adam", {"lr": 1e-2, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 1e-2}),
    ("AdamW", {"lr": 1e-2}),
]


def small_mlp(module):
    return module.Sequential(module.Linear(8, 32), module.GELU(), module.LayerNorm(32), module.Linear(32, 4))


def training_data():
    random = np.random.default_rng(0)
    return random.standard_normal((64, 8)).astype(np.float32), random.integers(0, 4, 64)


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = pel.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


@pytest.mark.parametrize("number", range(len(OPTIMIZERS)))
def test_training_has_pytorchs_losses_and_compiled_steps_the_same_bits(number):
    torch = pytest.importorskip("torch")
    name, settings = OPTIMIZERS[number]
    torch.manual_seed(number)
    theirs, eager, compiled = small_mlp(torch.nn), small_mlp(nn), small_mlp(nn)
    for model in (eager, compiled):
        model.load_state_dict(theirs.state_dict())
    optimizers = [getattr(optim, name)(model.parameters(), **settings) for model in (eager, compiled)]
    peer = getattr(torch.optim, name)(theirs.parameters(), **settings)
    fast = pel.compile(lambda x, y: train_step(compiled, optimizers[1], x, y))
    data = training_data()
    x, y = map(pel.from_numpy, data)
    losses = []
    for i in range(20):
        if i == 10:  # a schedule
            for group in (*peer.param_groups, *(group for each in optimizers for group in each.param_groups)):
                group["lr"] = settings["lr"] / 3
        peer.zero_grad()
        loss = torch.nn.functional.cross_entropy(theirs(torch.from_numpy(data[0])), torch.from_numpy(data[1]))
        loss.backward()
        peer.step()
        ours = train_step(eager, optimizers[0], x, y).item()
        assert fast(x, y).item() == ours
        assert abs(ours - loss.item()) < 2e-5, i
        losses.append(ours)
    assert losses[-1] < losses[0] - 0.1 and fast.compiles == 1
    for a, b in zip(eager.parameters(), compiled.parameters()):
        assert (a == b).all()


def test_a_state_continues_a_run():
    x, y = map(pel.from_numpy, training_data())
    for kind in (optim.AdamW, lambda parameters: optim.SGD(parameters, momentum=0.9)):
        pel.manual_seed(0)
        model = small_mlp(nn)
        optimizer = kind(model.parameters())
        for _ in range(3):
            train_step(model, optimizer, x, y)
        other = small_mlp(nn)
        other.load_state_dict(model.state_dict())
        resumed = kind(other.parameters())
        resumed.load_state_dict(optimizer.state_dict())
        for _ in range(3):
            assert train_step(model, optimizer, x, y).item() == train_step(other, resumed, x, y).item()
        with pytest.raises(ValueError, match="the state does not fit"):
            kind(list(other.parameters())[:2]).load_state_dict(optimizer.state_dict())


def test_groups_and_wrong_parameters():
    model = small_mlp(nn)
    named = dict(model.named_parameters())
    groups = [{"params": [named.pop("0.weight")], "lr": 0.0}, {"params": list(named.values())}]
    optimizer = optim.SGD(groups, lr=0.1)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x, y = map(pel.from_numpy, training_data())
    train_step(model, optimizer, x, y)
    after = model.state_dict()
    assert (after["0.weight"] == before["0.weight"]).all() and not (after["3.weight"] == before["3.weight"]).all()
    for wrong, words in (([], "there are none"), ([model[0].weight * 2], "takes leaves"),
                         ([model[0].weight] * 2, "in the list twice")):
        with pytest.raises(ValueError, match=words):
            optim.Adam(wrong)


def test_gradients_are_clipped():
    model = nn.Linear(3, 2)
    (model(pel.ones(1, 3)) * 100).sum().backward()
    norm = math.sqrt(sum((parameter.grad ** 2).sum().item() for parameter in model.parameters()))
    assert abs(optim.clip_grad_norm_(model.parameters(), 1.0).item() - norm) < 1e-3
    assert abs(math.sqrt(sum((parameter.grad ** 2).sum().item() for parameter in model.parameters())) - 1) < 1e-5
    assert optim.clip_grad_norm_([], 1.0).item() == 0
