"""zig, the compiler for other systems and for WebAssembly: PyPI's package ziglang, in a folder of the build."""
import subprocess
import sys

ZIG_VERSION = "0.17.0"


def find_zig(build):
    """Returns the path of zig, which it installs from PyPI if it is not there."""
    venv = build / "zig"
    if not list(venv.glob(f"lib/python3*/site-packages/ziglang-{ZIG_VERSION}.dist-info")):
        print(f"installing ziglang {ZIG_VERSION} in {venv}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/python", "-m", "pip", "install", "--quiet", f"ziglang=={ZIG_VERSION}"], check=True)
    return next(venv.glob("lib/python3*/site-packages/ziglang/zig"))
