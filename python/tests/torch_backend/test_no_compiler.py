"""Nothing needs a C or C++ compiler: a fresh process whose PATH has none compiles, infers and trains."""
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from comparison import run_script  # noqa: E402

SCRIPT = """
import os, shutil
assert not [name for name in ("cc", "c++", "gcc", "g++", "clang", "clang++", "ld", "as") if shutil.which(name)], "PATH has a compiler"
import torch, zoo
from comparison import compiled
example = zoo.example("geglu")
model = example.model
faster = compiled(model)
with torch.no_grad():
    assert torch.allclose(faster(**example.inputs), model(**example.inputs), atol=1e-5)
faster(**example.inputs).square().sum().backward()
gradients = [parameter.grad.clone() for parameter in model.parameters()]
model.zero_grad()
model(**example.inputs).square().sum().backward()
assert all(torch.allclose(parameter.grad, gradient, atol=1e-4) for parameter, gradient in zip(model.parameters(), gradients))
print("ok")
"""


def test_a_process_without_a_compiler_on_its_path_compiles_and_trains(tmp_path):
    environment = {"PATH": str(tmp_path), "CC": "", "CXX": "", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    assert run_script(SCRIPT, environment=environment).strip().endswith("ok")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".cpp", ".so")], "Inductor compiled something"
