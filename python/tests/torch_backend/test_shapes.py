"""Sizes that change: few graphs, one compile of Pellucid, weights that move, and recompiles that the report names."""
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import zoo  # noqa: E402
from comparison import IS_STAND_IN, compare_tensors, compiled, count_graphs, forget, needs_pellucid, report, share  # noqa: E402

SHAPES = [(2, 16), (3, 16), (2, 7), (5, 9), (4, 32), (7, 3), (2, 2), (6, 24), (3, 5), (8, 12)]
WITH_ONES = [(1, 16), (2, 1), (1, 1), (1, 9), (5, 1)]
MAX_GRAPHS_WITH_ONES = 4
MODELS = ["gpt2", "llama"]


def compiles():
    return sum(graph.compiles for graph in report().graphs)


def compare_shapes(model, faster, shapes):
    problems = []
    with torch.no_grad():
        for batch, length in shapes:
            text = zoo.tokens(batch, length)
            expected, found = model(text, use_cache=False).logits, faster(text, use_cache=False).logits
            problems += compare_tensors(f"logits of {batch} x {length}", expected, found, 1e-5)
    return problems


@dataclass
class Run:
    problems: list
    graphs: int  # of the shapes without a size of 1
    graphs_with_ones: int  # of all shapes
    compiles: int | None  # by Pellucid, of the shapes without a size of 1


@pytest.fixture(scope="module", params=MODELS if share() == 1 else MODELS[:1])
def run(request):
    """Runs a model with all shapes, once for all tests."""
    if not zoo.has_transformers():
        pytest.skip("transformers is not installed")
    forget()
    model = zoo.example(request.param).model.eval()
    faster = compiled(model, dynamic=True)
    with count_graphs() as graphs:
        problems = compare_shapes(model, faster, SHAPES)
    compiled_here = None if IS_STAND_IN else compiles()
    with count_graphs() as further:
        problems += compare_shapes(model, faster, WITH_ONES)
    return Run(problems, graphs[0], graphs[0] + further[0], compiled_here)


def test_results_of_all_shapes_are_those_of_eager(run):
    assert not run.problems, "\n".join(run.problems)


def test_one_graph_serves_ten_shapes_and_sizes_of_1_add_few(run):
    assert run.graphs == 1
    assert run.graphs_with_ones <= MAX_GRAPHS_WITH_ONES


@needs_pellucid
def test_pellucid_compiles_once_for_ten_shapes(run):
    assert run.compiles == 1


def mlp():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).eval()


def test_weights_that_move_are_followed_without_a_new_graph():
    forget()
    model, x = mlp(), torch.randn(3, 8)
    faster = compiled(model)
    with torch.no_grad():
        faster(x)
        with count_graphs() as graphs:
            for _ in range(3):
                for parameter in model.parameters():
                    parameter.data = torch.randn_like(parameter)
                assert torch.allclose(faster(x), model(x), atol=1e-5)
    assert graphs[0] == 0


def test_weights_written_in_place_are_followed():
    forget()
    model, x = mlp(), torch.randn(3, 8)
    faster = compiled(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        faster(x).square().sum().backward()
        optimizer.step()
        with torch.no_grad():
            assert torch.allclose(faster(x), model(x), atol=1e-5)


def test_a_loaded_state_dict_is_followed():
    forget()
    model, x = mlp(), torch.randn(3, 8)
    faster = compiled(model)
    with torch.no_grad():
        faster(x)
        model.load_state_dict({name: torch.randn_like(value) for name, value in model.state_dict().items()})
        assert torch.allclose(faster(x), model(x), atol=1e-5)
        model.load_state_dict({name: torch.randn_like(value) for name, value in model.state_dict().items()}, assign=True)
        assert torch.allclose(faster(x), model(x), atol=1e-5)


def test_two_models_of_one_form_have_their_own_weights():
    forget()
    x = torch.randn(3, 8)
    models = [mlp(), mlp()]
    with torch.no_grad():
        for parameter in models[1].parameters():
            parameter.mul_(2)
        faster = [compiled(model) for model in models]
        for _ in range(2):
            for model, fast in zip(models, faster):
                assert torch.allclose(fast(x), model(x), atol=1e-5)


def test_dtypes_and_strides_of_inputs_may_change():
    forget()
    faster = compiled(lambda x: torch.relu(x) * 2 + 1)
    for x in (torch.randn(4, 6), torch.randn(6, 4).t(), torch.randn(4, 6).double(), torch.randn(8, 6)[::2], torch.randn(4, 6).bfloat16()):
        expected = torch.relu(x) * 2 + 1
        assert not compare_tensors("the result", expected, faster(x), 2e-2 if x.dtype == torch.bfloat16 else 1e-5)


@needs_pellucid
def test_a_recompile_is_reported_with_its_guard():
    forget()
    faster = compiled(lambda x: x.sin() + 1, dynamic=False)
    for length in (4, 5):
        faster(torch.randn(length))
    named = report().recompiles
    assert len(named) == 1 and ("size" in named[0].reason or "shape" in named[0].reason), str(report())


@needs_pellucid
def test_graphs_that_differ_in_nothing_are_not_compiled_again():
    forget()

    def block(x):
        return torch.relu(x @ x.t()) + 1

    first, second = (compiled(lambda x, f=f: f(x), dynamic=True) for f in (block, block))
    x = torch.randn(5, 6)
    assert torch.equal(first(x), second(x))
    assert compiles() == 1, str(report())
