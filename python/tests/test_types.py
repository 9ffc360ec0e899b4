"""The stubs agree with the package, and type checkers accept them."""
import ast
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pellucid as pel
from pellucid import _core

PACKAGE = Path(pel.__file__).parent
CORE = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
OPS = ast.parse((PACKAGE / "ops.pyi").read_text(encoding="utf-8"))
INIT = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
KINDS = inspect.Parameter


def parameters_of(function):
    """(name, kind, default, annotation) of each parameter in a stub."""
    args = function.args
    positional = args.posonlyargs + args.args
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    rows = [(arg, KINDS.POSITIONAL_OR_KEYWORD, default) for arg, default in zip(positional, defaults)]
    if args.vararg:
        rows.append((args.vararg, KINDS.VAR_POSITIONAL, None))
    rows += [(arg, KINDS.KEYWORD_ONLY, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    return [(arg.arg, kind, KINDS.empty if default is None else ast.literal_eval(default),
             plain(ast.unparse(arg.annotation)) if arg.annotation else None) for arg, kind, default in rows]


def plain(annotation):
    return re.sub(r"\bbuiltins\.", "", annotation)


def test_stubs_agree_with_the_signature_of_every_op():
    stubs = {node.name: node for node in OPS.body if isinstance(node, ast.FunctionDef)}
    assert set(stubs) == {name.replace(".", "_") for name in _core.ops if "::" not in name}
    for name, op in _core.ops.items():
        stub = stubs[name.replace(".", "_")]
        signature = inspect.signature(op)
        ours = [(p.name, p.kind, p.default, p.annotation) for p in signature.parameters.values()]
        assert parameters_of(stub) == ours, name
        assert plain(ast.unparse(stub.returns)) == signature.return_annotation, name


def test_stubs_have_every_attribute_of_tensor():
    stub = next(node for node in CORE.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    stubbed = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    stubbed |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    real = {name for name in vars(pel.Tensor) if not name.startswith("_")}
    assert real == {name for name in stubbed if not name.startswith("_")}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef) and node.name in _core.ops:
            bound = inspect.signature(getattr(pel.ones(1), node.name))
            assert parameters_of(node)[1:] == [(p.name, p.kind, p.default, p.annotation) for p in bound.parameters.values()]


def test_stubs_have_every_name_of_the_package():
    stubbed = {node.name for node in INIT.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    for node in INIT.body:
        if isinstance(node, ast.ImportFrom):
            stubbed |= {alias.asname for alias in node.names if alias.asname}
    parts = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    real = {name for name in dir(pel) if not name.startswith("_")}  # those that are imported later too
    assert all(hasattr(pel, name) for name in real) and real - parts == stubbed - parts


USER_PROGRAM = '''
import pellucid as pel
from pellucid import Tensor

x: Tensor = pel.zeros(2, 3, dtype=pel.float32)
y: Tensor = pel.relu(x) + 2 * x - x @ x.T
values, indices = pel.max(x, 0)
z: Tensor = x.view(3, 2).sum(dim=0, keepdim=True)
w: tuple[Tensor, ...] = x.split(1)
shape: tuple[int, ...] = x[0, ..., None].shape
x[0] = 1.5
with pel.no_grad():
    pel.add(x, 1, alpha=2, out=y)
fast = pel.compile(lambda t: t + 1)
text: str = fast.explain().text()
model = pel.nn.Sequential(pel.nn.Linear(3, 4), pel.nn.GELU())
weight: Tensor = model.state_dict()["0.weight"]
optimizer = pel.optim.AdamW(model.parameters(), lr=0.1)

@pel.op
def scaled(t: Tensor, factor: float = 2.0) -> Tensor:
    return t * factor

s: Tensor = scaled(x, 3.0)
'''
WRONG_PROGRAM = USER_PROGRAM + '''
pel.relu("text")  # wrong
pel.zeros(2, dtype=3)  # wrong
x.sum(keepdim="yes")  # wrong
pel.softmax(x)  # wrong
pel.nn.Linear("3", 4)  # wrong
pel.optim.SGD(model.parameters(), lr="fast")  # wrong
'''


def wrong_lines():
    return {i for i, line in enumerate(WRONG_PROGRAM.splitlines(), 1) if line.endswith("# wrong")}


# mypy finds an installed package by itself, and refuses its folder in this variable.
ENVIRONMENT = dict(os.environ) if "site-packages" in PACKAGE.parts else {**os.environ, "MYPYPATH": str(PACKAGE.parent)}


def checked(command, program, folder):
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    run = subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=folder,
                         env=ENVIRONMENT)
    return run, {int(line) for line in re.findall(r"program\.py:(\d+)(?::\d+)?(?: -)? ?:? ?error", run.stdout)}


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_the_stubs_and_finds_wrong_calls(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    run, found = checked(command, USER_PROGRAM, tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    run, found = checked(command, WRONG_PROGRAM, tmp_path)
    assert found == wrong_lines(), run.stdout
    # A copy, because mypy does not check files of site-packages.
    folder = tmp_path / "stubs/pellucid"
    folder.mkdir(parents=True)
    for path in [*PACKAGE.glob("*.py"), *PACKAGE.glob("*.pyi")]:
        shutil.copy(path, folder)
    stubs = subprocess.run([*command, *map(str, folder.glob("*.pyi"))], capture_output=True, text=True, cwd=tmp_path,
                           env={**os.environ, "MYPYPATH": str(folder.parent)})
    assert stubs.returncode == 0, stubs.stdout


@pytest.mark.skipif(shutil.which("pyright", path=str(Path(sys.executable).parent)) is None, reason="pyright is not installed")
def test_pyright_accepts_the_stubs_and_finds_wrong_calls(tmp_path):
    pyright = str(Path(sys.executable).parent / "pyright")
    (tmp_path / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{PACKAGE.parent}"]}}', encoding="utf-8")
    command = [pyright, "-p", str(tmp_path)]
    (tmp_path / "program.py").write_text(USER_PROGRAM, encoding="utf-8")
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    (tmp_path / "program.py").write_text(WRONG_PROGRAM, encoding="utf-8")
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    found = {int(line) for line in re.findall(r"program\.py:(\d+):\d+ - error", run.stdout)}
    assert found == wrong_lines(), run.stdout
