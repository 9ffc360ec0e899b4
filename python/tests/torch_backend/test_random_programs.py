"""Random programs equal eager in values, strides, dtypes, shared memory and what they write to their inputs."""
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import programs  # noqa: E402
from comparison import BACKEND, share  # noqa: E402

COUNT = 500


@pytest.mark.parametrize("seed", range(0, COUNT, share()))
def test_a_random_program_equals_eager(seed):
    made = programs.program(seed)
    repro = f"PELLUCID_TORCH_BACKEND={BACKEND} {sys.executable} {Path(programs.__file__)} {seed}"
    try:
        problems = programs.compare(made)
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{made}\nrepro: {repro}") from error
    assert not problems, "\n".join(["", *problems, str(made), f"repro: {repro}"])


def test_a_seed_always_has_the_same_program():
    assert str(programs.program(7)) == str(programs.program(7))
