"""Eighteen models forward, eleven trained: results, strides and gradients of eager, and the share that ran in Pellucid."""
import copy
import functools
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import zoo  # noqa: E402
from comparison import compare_tensors, compiled, forget, needs_pellucid, share, shares, tensors  # noqa: E402
from comparison import IS_STAND_IN, TOLERANCE  # noqa: E402

RELATIVE = TOLERANCE[torch.float32]
NEGLIGIBLE = 1e-8  # a gradient whose norm is below this share of that of all is rounding: keys' biases have none, in exact numbers
MIN_NODES, MIN_FLOPS = 0.99, 0.98
HAS_DROPOUT = ("mobilenet",)

# Dynamo takes about five times as long for symbolic sizes, so a share of the tests has them for some models only.
SHARE = max(1, share() // 10)  # of the models
SYMBOLIC = (("gpt2", False), ("mobilenet", False), ("unet", True), ("dlrm", True))[::SHARE]
RUNS = [*((name, False) for name in zoo.MODELS), *((name, True) for name in zoo.TRAINED)][::SHARE]
CASES = [pytest.param(name, training, dynamic, id=f"{name}-{'training' if training else 'forward'}{'-dynamic' if dynamic else ''}")
         for dynamic in (None, True) for name, training in RUNS
         if not dynamic or share() == 1 or (name, training) in SYMBOLIC]


@dataclass
class Run:
    problems: list
    shares: object


def loss_of(output):
    return output if isinstance(output, torch.Tensor) else output.loss


def compare_gradients(eager, faster):
    problems = []
    gradients = [(name, parameter.grad, twin.grad)
                 for (name, parameter), (_, twin) in zip(eager.named_parameters(), faster.named_parameters())]
    whole = torch.stack([gradient.norm() for _, gradient, _ in gradients if gradient is not None]).norm()
    for name, expected, found in gradients:
        if expected is None or found is None:
            if expected is not found:
                problems.append(f"gradient of {name}: expected {expected}, found {found}")
        elif (expected.dtype, expected.stride()) != (found.dtype, found.stride()):
            problems.append(f"gradient of {name}: expected strides {expected.stride()}, found {found.stride()}")
        elif (expected.norm() > NEGLIGIBLE * whole or found.norm() > NEGLIGIBLE * whole) and \
                (distance := ((expected - found).norm() / expected.norm()).item()) > RELATIVE:
            problems.append(f"gradient of {name}: differs by {distance:.3g} of its norm; at most {RELATIVE} is expected")
    return problems


def train(name, dynamic, random="torch"):
    """Runs forward and backward in eager and compiled. If random ops stay with PyTorch, both draw the same numbers."""
    example = zoo.example(name)
    eager, faster = example.model.train(), copy.deepcopy(example.model).train()
    step = compiled(faster, dynamic=dynamic, random=random)
    torch.manual_seed(1)
    expected = loss_of(eager(**example.inputs, **example.labels))
    expected.backward()
    torch.manual_seed(1)
    found = loss_of(step(**example.inputs, **example.labels))
    found.backward()
    problems = compare_tensors("the loss", expected, found, RELATIVE) + compare_gradients(eager, faster)
    for (buffer, a), (_, b) in zip(eager.named_buffers(), faster.named_buffers()):
        problems += compare_tensors(f"buffer {buffer} after the step", a, b, RELATIVE)
    return problems


def infer(name, dynamic):
    example = zoo.example(name)
    model = example.model.eval()
    faster = compiled(model, dynamic=dynamic)
    with torch.no_grad():
        expected = model(**example.inputs)
        found = faster(**example.inputs)
    problems = []
    if type(expected) is not type(found) or len(tensors(expected)) != len(tensors(found)):
        problems.append(f"expected {type(expected)} with {len(tensors(expected))} tensors, "
                        f"found {type(found)} with {len(tensors(found))}")
    for index, (a, b) in enumerate(zip(tensors(expected), tensors(found))):
        problems += compare_tensors(f"output {index}", a, b, RELATIVE)
    return problems


@functools.cache
def run(name, training, dynamic):
    """Compiles and runs a model once, for all tests of it."""
    if name in zoo.TRANSFORMERS and not zoo.has_transformers():
        pytest.skip("transformers is not installed")
    forget()
    problems = train(name, dynamic) if training else infer(name, dynamic)
    if training and name in HAS_DROPOUT:  # its share is that with the default options, which leave no random op to PyTorch
        forget()
        train(name, dynamic, random="pellucid")
    return Run(problems, None if IS_STAND_IN else shares())


@pytest.mark.parametrize(("name", "training", "dynamic"), CASES)
def test_results_strides_and_gradients_are_those_of_eager(name, training, dynamic):
    problems = run(name, training, dynamic).problems
    assert not problems, "\n  ".join(["", *problems])


@needs_pellucid
@pytest.mark.parametrize(("name", "training", "dynamic"), CASES)
def test_nearly_all_of_a_model_runs_in_pellucid(name, training, dynamic):
    seen = run(name, training, dynamic).shares
    assert seen.nodes > 0, "the backend saw no graph"
    assert seen.nodes_here >= MIN_NODES * seen.nodes and seen.flops_here >= MIN_FLOPS * seen.flops, str(seen)


@needs_pellucid
def test_nearly_all_of_the_zoo_runs_in_pellucid():
    runs = [run(name, training, None).shares for name, training in RUNS]
    nodes, nodes_here = sum(seen.nodes for seen in runs), sum(seen.nodes_here for seen in runs)
    flops, flops_here = sum(seen.flops for seen in runs), sum(seen.flops_here for seen in runs)
    text = f"{nodes_here} of {nodes} nodes ({nodes_here / nodes:.2%}), {flops_here:.4g} of {flops:.4g} FLOPs ({flops_here / flops:.2%})"
    print(text)
    assert nodes_here >= MIN_NODES * nodes and flops_here >= MIN_FLOPS * flops, text
