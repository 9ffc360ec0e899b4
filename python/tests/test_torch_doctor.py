"""pellucid.torch.doctor: profiles a PyTorch function and diagnoses it."""
import gzip
import json
import subprocess
import sys

import pellucid
import pellucid.torch
import pytest
from test_doctor import environment


def test_pytorch_is_imported_only_when_it_is_needed():
    script = "import sys, pellucid, pellucid.torch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], env=environment()).returncode == 0


def test_a_wrong_number_of_steps_is_an_error():
    with pytest.raises(ValueError, match="one step or more"):
        pellucid.torch.doctor(print, steps=0)


torch = pytest.importorskip("torch")


def multiply(a, b):
    return torch.relu(a @ b) + a


@pytest.fixture
def matrices():
    return torch.randn(64, 64), torch.randn(64, 64)


def test_a_function_is_profiled(matrices, tmp_path):
    trace = tmp_path / "trace.json"
    calls = []

    def step(a, b):
        calls.append(1)
        return multiply(a, b)

    diagnosis = pellucid.torch.doctor(step, *matrices, warmup=2, steps=4, trace=trace, expect="kernels == 0")
    assert len(calls) == 6 and diagnosis.holds
    steps = [event for event in json.loads(trace.read_text())["traceEvents"]
             if event.get("name", "").startswith("ProfilerStep#") and event["cat"] == "user_annotation"]
    assert len(steps) == 4
    if not torch.cuda.is_available():
        assert diagnosis.verdict.bound == "cpu-only"
    assert diagnosis.findings["host_ops"].tables
    assert str(pellucid.doctor(trace, expect="kernels == 0")) == str(diagnosis)


@pytest.mark.parametrize("stacks", [True, False])
def test_the_trace_may_be_compressed_and_has_stacks_if_wanted(matrices, tmp_path, stacks):
    trace = tmp_path / "trace.json.gz"
    pellucid.torch.doctor(multiply, *matrices, trace=trace, stacks=stacks)
    categories = {event.get("cat") for event in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]}
    assert ("python_function" in categories) == stacks


def test_a_profile_of_pytorch_is_diagnosed(matrices):
    with torch.profiler.profile(record_shapes=True) as profiled:
        multiply(*matrices)
    assert pellucid.doctor(profiled).verdict.bound in ("cpu-only", "overhead-bound")


def test_a_page_is_named_after_the_function(matrices):
    diagnosis = pellucid.torch.doctor(multiply, *matrices)
    assert "<title>multiply.json – Pellucid doctor</title>" in diagnosis.html()
