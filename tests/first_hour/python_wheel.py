#!/usr/bin/env python3
"""Installs the built wheel in a fresh environment, and does what a new user does first.

    python_wheel.py WHEEL [--torch SITE_PACKAGES] [--python PYTHON]...

In each environment: imports, next to torch in both orders if there is one, and the examples of docs/python.md. SITE_PACKAGES is
a folder that has torch and NumPy. Several --python try one wheel on several versions.
"""
import argparse
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


def try_wheel(folder, wheel, python, torch):
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
        run(inside, "-m", "pip", "install", "--quiet", "pytest", "mypy", cwd=folder)
        print(run(inside, "-m", "pytest", "-q", ROOT / "python/tests", cwd=folder, seconds=600).splitlines()[-1])


def open_door(folder, wheel, pythons, torch):
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB")
    expect(size <= MAX_BYTES, f"{wheel.name} has {size} bytes; the limit is {MAX_BYTES}.")
    for number, python in enumerate(pythons):
        inner = folder / str(number)
        inner.mkdir()
        try_wheel(inner, wheel, python, torch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--torch", type=Path)
    parser.add_argument("--python", action="append", default=[])
    asked = parser.parse_args()
    sys.exit(main(open_door, asked.wheel.resolve(), asked.python or [sys.executable], asked.torch and asked.torch.resolve()))
