"""torch.compile(backend="pellucid") without any import of pellucid; both orders of imports; threads; processes."""
import importlib.metadata
import os
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from comparison import BACKEND, run_script  # noqa: E402

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def installed(tmp_path):
    """Returns an environment in which the entry point is found.

    An installed package has it. For one that is imported from a build, this writes metadata with the entry points that the
    project declares.
    """
    names = {entry.name for entry in importlib.metadata.entry_points(group="torch_dynamo_backends")}
    if BACKEND != "pellucid" or "pellucid" in names:
        return {}
    assert PROJECT.exists(), "the installed package has no entry point torch_dynamo_backends"
    declared = re.search(r'\[project\.entry-points\."?torch_dynamo_backends"?\]\n((?:.+\n)+)', PROJECT.read_text(encoding="utf-8"))
    assert declared, f"{PROJECT} declares no entry point of the group torch_dynamo_backends"
    folder = tmp_path / "pellucid-0.0.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pellucid\nVersion: 0.0.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(f"[torch_dynamo_backends]\n{declared[1].replace(chr(34), '')}", encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}


COMPILE = f"""
def check():
    import torch
    function = lambda x: torch.relu(x @ x.t()) + 1
    x = torch.randn(8, 8)
    assert torch.allclose(torch.compile(function, backend={BACKEND!r})(x), function(x), atol=1e-5)
"""


def test_the_backend_is_found_without_an_import(installed):
    script = COMPILE + f"""
import sys, torch
assert "pellucid" not in sys.modules
assert {BACKEND!r} in torch._dynamo.list_backends(None), torch._dynamo.list_backends(None)
check()
print("ok")
"""
    assert run_script(script, environment=installed).strip() == "ok"


@pytest.mark.parametrize("order", ["import torch, pellucid.torch", "import pellucid.torch, torch", "import pellucid; import torch; import pellucid.torch"])
def test_both_orders_of_imports_work(installed, order):
    assert run_script(f"{order}\n{COMPILE}check()\nprint('ok')", environment=installed).strip() == "ok"


def test_torch_is_not_imported_with_the_package():
    assert run_script("import sys, pellucid, pellucid.torch\nprint('torch' in sys.modules)").strip() == "False"


def test_many_threads_compile_and_call(installed):
    script = f"""
import threading, torch
failures = []

def work(index):
    try:
        for size in (4, 9):
            function = lambda x: torch.relu(x @ x.t()) * (index + 1) + 1
            faster = torch.compile(function, backend={BACKEND!r})
            x = torch.randn(size, 8)
            for _ in range(20):
                assert torch.allclose(faster(x), function(x), atol=1e-4)
    except BaseException as error:
        failures.append(error)

shared_function = lambda x: torch.tanh(x) @ x.t()
shared = torch.compile(shared_function, backend={BACKEND!r})
shared(torch.randn(5, 8))

def call_shared():
    try:
        for _ in range(200):
            x = torch.randn(5, 8)
            assert torch.allclose(shared(x), shared_function(x), atol=1e-4)
    except BaseException as error:
        failures.append(error)

threads = [threading.Thread(target=work, args=(index,)) for index in range(4)] + [threading.Thread(target=call_shared) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
print("ok")
"""
    assert run_script(script, environment=installed).strip() == "ok"


def test_a_forked_process_compiles_and_calls(installed):
    script = COMPILE + f"""
import os, sys, torch
torch.set_num_threads(1)  # OpenMP itself does not survive a fork with more
function = lambda x: torch.relu(x @ x.t()) + 1
faster = torch.compile(function, backend={BACKEND!r})
x = torch.randn(8, 8)
expected = faster(x)
child = os.fork()
if child == 0:
    status = 1
    try:
        assert torch.equal(faster(x), expected)
        check()
        status = 0
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
assert torch.equal(faster(x), expected)
print("ok")
"""
    assert run_script(script, environment=installed, seconds=120).strip() == "ok"


def test_a_process_ends_normally_after_a_compile(installed):
    script = COMPILE + "check()\nimport atexit\natexit.register(lambda: print('ended'))\n"
    assert run_script(script, environment=installed, is_silent=True).strip() == "ended"


def test_a_second_torch_compile_of_a_function_does_not_compile_again(installed):
    script = f"""
import torch
from torch._dynamo.utils import counters
function = lambda x: x.sin() + 1
for _ in range(3):
    torch.compile(function, backend={BACKEND!r})(torch.randn(4))
print(counters["stats"]["unique_graphs"])
"""
    assert run_script(script, environment=installed).strip() == "1"
