#!/usr/bin/env python3
"""Installs the built wheel in a fresh environment, and does what a new user does first.

    python_wheel.py WHEEL [--torch SITE_PACKAGES] [--python PYTHON]...

In each environment: imports, next to torch in both orders if there is one, and the examples of docs/python.md. SITE_PACKAGES is
a folder that has torch and NumPy. Several --python try one wheel on several versions.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MAX_BYTES = 20_000_000

BOTH = "{first}\n{second}\nx = torch.ones(3)\ny = pellucid.from_dlpack(x)\ny += 1\nassert x.tolist() == [2, 2, 2]\n" \
       "a, b = torch.randn(64, 64), torch.randn(64, 64)\n" \
       "c = pellucid.matmul(pellucid.from_dlpack(a), pellucid.from_dlpack(b))\n" \
       "assert torch.allclose(torch.from_dlpack(c), a @ b, atol=1e-4)\nprint('ok')\n"
EXAMPLES = "import sys\nsys.path.insert(0, {tests!r})\nfrom examples import differences\n" \
           "count, found = differences()\nassert count and not found, found\nprint('ok')\n"
ALONE = "import pellucid\nassert (pellucid.ones(2) + 1).tolist() == [2, 2]\n" \
        "assert not [line for line in open('/proc/self/maps') if 'libgomp' in line], 'libgomp is loaded'\nprint('ok')\n"


def run(what, command, **options):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stdout}{done.stderr}")
    print(f"{what}: {time.monotonic() - start:.1f} s")
    return done.stdout


def try_wheel(wheel, python, torch, folder):
    run(f"{python}: environment", [python, "-m", "venv", folder])
    inside = str(pathlib.Path(folder, "bin/python"))
    run("install", [inside, "-m", "pip", "install", "--quiet", str(wheel)])
    run("import", [inside, "-c", ALONE], cwd=folder)
    if torch and python == sys.executable:  # its extensions are for this version
        site = run("site-packages", [inside, "-c", "import site; print(site.getsitepackages()[0])"]).strip()
        pathlib.Path(site, "peers.pth").write_text(f"{torch}\n", encoding="utf-8")
        for first, second in (("import torch", "import pellucid"), ("import pellucid", "import torch")):
            run(f"{first}, {second}", [inside, "-c", BOTH.format(first=first, second=second)], cwd=folder)
        run("examples", [inside, "-c", EXAMPLES.format(tests=str(ROOT / "python/tests"))], cwd=folder)
        run("test tools", [inside, "-m", "pip", "install", "--quiet", "pytest", "mypy"])
        print(run("tests", [inside, "-m", "pytest", "-q", str(ROOT / "python/tests")], cwd=folder).splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--torch", type=pathlib.Path)
    parser.add_argument("--python", action="append", default=[])
    options = parser.parse_args()
    size = options.wheel.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{options.wheel.name} has {size} bytes; the limit is {MAX_BYTES}.")
    print(f"{options.wheel.name}: {size / 1e6:.1f} MB")
    for python in options.python or [sys.executable]:
        with tempfile.TemporaryDirectory() as folder:
            try_wheel(options.wheel.resolve(), python, options.torch and options.torch.resolve(), folder)


if __name__ == "__main__":
    main()
