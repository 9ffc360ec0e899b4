"""pellucid.torch.compare: eager, Inductor and Pellucid side by side."""
import json
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import pellucid.torch  # noqa: E402
import zoo  # noqa: E402
from comparison import forget, needs_pellucid, run_script  # noqa: E402

pytestmark = needs_pellucid


@pytest.fixture
def model():
    forget()
    return zoo.example("geglu").model


def test_sides_are_measured_and_one_is_advised(model):
    seen = pellucid.torch.compare(model, torch.randn(8, 64), seconds=0.2, inductor=False)
    assert list(seen.sides) == ["eager", "inductor", "pellucid"]
    ours, eager = seen.sides["pellucid"], seen.sides["eager"]
    assert ours.first_call > 0 and ours.steady > 0 and ours.quartiles[0] <= ours.steady <= ours.quartiles[1]
    assert ours.graphs == 1 and ours.recompiles == 0 and ours.difference < 1e-5
    assert 0 < ours.kernels <= eager.kernels == 5  # three matmuls, gelu, mul
    assert ours.peak_bytes is None or ours.peak_bytes < 1 << 30
    assert "inductor=False" in seen.sides["inductor"].skipped
    assert seen.advice.startswith("Use ") and seen.advice in str(seen)
    assert re.search(r"^pellucid +\S+ m?s ", str(seen), re.MULTILINE), str(seen)
    assert json.loads(json.dumps(seen.to_dict()))["sides"]["pellucid"]["graphs"] == 1


def test_training_steps_are_compared(model):
    seen = pellucid.torch.compare(model, dict(x=torch.randn(8, 64)), loss=lambda y: y.square().mean(), seconds=0.2, inductor=False)
    assert seen.training and seen.sides["pellucid"].steady > 0 and "training step" in seen.text
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_inputs_of_several_sizes_show_recompiles(model):
    inputs = [torch.randn(rows, 64) for rows in (8, 9, 10)]
    static = pellucid.torch.compare(model, inputs, seconds=0.2, inductor=False, dynamic=False)
    assert static.sides["pellucid"].recompiles == 2
    forget()
    assert pellucid.torch.compare(model, inputs, seconds=0.2, inductor=False, dynamic=True).sides["pellucid"].recompiles == 0


def test_ops_left_to_pytorch_are_named():
    forget()
    seen = pellucid.torch.compare(lambda x: torch.linalg.svdvals(x @ x) + 1, torch.randn(8, 8), seconds=0.1, inductor=False)
    assert "svd" in str(seen) and "test_compare.py" in str(seen)


def test_inductor_is_skipped_with_a_reason_if_there_is_no_compiler(tmp_path):
    script = """
import torch, pellucid.torch
seen = pellucid.torch.compare(torch.nn.Linear(8, 8), torch.randn(4, 8), seconds=0.1)
print(seen)
assert "no C++ compiler" in seen.sides["inductor"].skipped and seen.sides["pellucid"].steady > 0
"""
    printed = run_script(script, environment={"PATH": str(tmp_path), "CC": "", "CXX": ""})
    assert "inductor was not measured: there is no C++ compiler" in printed


@pytest.mark.parametrize(("arguments", "text"), [(dict(inputs=[]), "one input"), (dict(inputs=torch.ones(1), seconds=0), "positive time")])
def test_wrong_arguments_are_errors(arguments, text):
    with pytest.raises(ValueError, match=text):
        pellucid.torch.compare(torch.nn.Identity(), **arguments)
