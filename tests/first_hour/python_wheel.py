#!/usr/bin/env python3
"""Installs the built wheel in a fresh environment, and does what a new user does first.

    python_wheel.py WHEEL [--torch SITE_PACKAGES] [--python PYTHON]...

In the first environment: imports, next to torch in both orders if there is one, the examples of docs/python.md, the tests with
mypy and pyright, those of the backend for torch.compile, and the wheel's use of the stable ABI. SITE_PACKAGES is a folder that has torch and NumPy. Versions that are
named run all tests without torch; if none are named, others that this machine has run those that differ by version.
"""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from door import ROOT, expect, main, run

MAX_BYTES = 20_000_000

BOTH = "{first}\n{second}\nx = torch.ones(3)\ny = pellucid.from_dlpack(x)\ny += 1\nassert x.tolist() == [2, 2, 2]\n" \
       "a, b = torch.randn(64, 64), torch.randn(64, 64)\n" \
       "c = pellucid.matmul(pellucid.from_dlpack(a), pellucid.from_dlpack(b))\n" \
       "assert torch.allclose(torch.from_dlpack(c), a @ b, atol=1e-4)\nprint('ok')\n"
EXAMPLES = "import sys\nsys.path.insert(0, {tests!r})\nfrom examples import differences\n" \
           "count, found = differences()\nassert count and not found, found\nprint('ok')\n"
ALONE = "import pellucid\nassert (pellucid.ones(2) + 1).tolist() == [2, 2]\n" \
        "assert not [line for line in open('/proc/self/maps') if 'libgomp' in line], 'libgomp is loaded'\nprint('ok')\n"


# What the stable ABI could break: exchange with NumPy, classes, threads, signals.
SHARE = ("test_exchange.py", "test_user_ops.py")
TORCH_TESTS = ROOT / "python/tests/torch_backend"  # those with many cases run a share of them


def try_wheel(folder, wheel, python, torch, has_all):
    run(python, "-m", "venv", folder, cwd=folder)
    inside = folder / "bin/python"
    run(inside, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    run(inside, "-c", ALONE, cwd=folder)
    if torch and python == sys.executable:  # its extensions are for this version
        site = run(inside, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).strip()
        Path(site, "peers.pth").write_text(f"{torch}\n", encoding="utf-8")
        for first, second in (("import torch", "import pellucid"), ("import pellucid", "import torch")):
            run(inside, "-c", BOTH.format(first=first, second=second), cwd=folder)
        run(inside, "-c", EXAMPLES.format(tests=str(ROOT / "python/tests")), cwd=folder)
        run(inside, "-m", "pip", "install", "--quiet", "pytest", "mypy", "pyright[nodejs]", "abi3audit", "expecttest", cwd=folder, seconds=600)
        print(run(inside, "-m", "abi3audit", "--strict", "--verbose", wheel, cwd=folder).splitlines()[-1])
    else:
        run(inside, "-m", "pip", "install", "--quiet", "pytest", "numpy", cwd=folder, seconds=600)
    version = run(inside, "-c", "import platform; print(platform.python_version())", cwd=folder).strip()
    tests = [ROOT / "python/tests"] if has_all else [ROOT / "python/tests" / name for name in SHARE]
    tested = run(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--ignore={TORCH_TESTS}", *tests, cwd=folder, seconds=900)
    print(f"Python {version}: {tested.splitlines()[-1]}", flush=True)
    if torch and python == sys.executable:
        tested = run(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", TORCH_TESTS, cwd=folder, seconds=1800)
        print(f"torch.compile: {tested.splitlines()[-1]}", flush=True)


def pythons_here():
    """This Python, and one of each other version from 3.10 on that the machine has."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(10, 20):
        for candidate in (*versions.glob(f"3.{minor}.*/bin/python3.{minor}"), shutil.which(f"python3.{minor}")):
            if candidate and (3, minor) not in found:
                tried = subprocess.run([candidate, "-c", "import ensurepip, ssl, venv"], capture_output=True, timeout=60)
                if tried.returncode == 0:
                    found[3, minor] = str(candidate)
    return list(found.values())


def open_door(folder, wheel, named, torch):
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB")
    expect(size <= MAX_BYTES, f"{wheel.name} has {size} bytes; the limit is {MAX_BYTES}.")
    for number, python in enumerate(named or pythons_here()):
        inner = folder / str(number)
        inner.mkdir()
        try_wheel(inner, wheel, python, torch, has_all=number == 0 or bool(named))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--torch", type=Path)
    parser.add_argument("--python", action="append", default=[])
    asked = parser.parse_args()
    sys.exit(main(open_door, asked.wheel.resolve(), asked.python, asked.torch and asked.torch.resolve()))
