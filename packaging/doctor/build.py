#!/usr/bin/env python3
"""Builds pellucid-doctor for other machines: one file that needs nothing installed.

    packaging/doctor/build.py [--wheel] [--twice] [--output FOLDER] TARGET...
    packaging/doctor/build.py --list

Fetches the pinned sources (fetch_sources.py), builds each target in build/doctor/TARGET, checks its size and writes an archive
of the program with its licences to build/doctor/dist; --wheel also writes a wheel. --twice builds everything again in another
folder and expects the same bytes. Targets for macOS and Windows need the package ziglang, which is installed in
build/doctor/zig. For Windows, zig first compiles its own compiler of resources: 70 s of CPU time, once for a machine.
"""
import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
from make_wheel import make_wheel  # noqa: E402
from notices import notices  # noqa: E402
from zig import find_zig  # noqa: E402

MAX_PROGRAM_BYTES = 4_000_000
MAX_WHEEL_BYTES = 2_000_000
WHEN = (1980, 1, 1, 0, 0, 0)  # the time of every file: archives do not depend on the clock


class Target(NamedTuple):
    wheel_tag: str
    compiler: str  # a key of COMPILERS
    ran: str  # where the program was run


# A static program asks nothing of the system's C library: its wheel has the tags of glibc and of musl.
TARGETS = {
    "linux-x86_64": Target("manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64", "g++", "run natively"),
    "linux-aarch64": Target("manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64", "aarch64-linux-gnu-g++",
                            "run under qemu-user"),
    "macos-x86_64": Target("macosx_11_0_x86_64", "zig", "never run"),
    "macos-arm64": Target("macosx_11_0_arm64", "zig", "never run"),
    "windows-x86_64": Target("win_amd64", "zig", "run under Wine"),
}

# The packages that a compiler needs, for the error if it is missing.
COMPILERS = {"g++": "g++ nasm", "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu", "zig": "nasm"}


def fail(message):
    sys.exit(f"build.py: {message}")


def version():
    return re.search(r"^project\(Pellucid VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def build_program(name, target, folder, zig, jobs):
    """Returns the path of the program. `zig`: the path of the compiler, if the target needs it."""
    environment = dict(os.environ, LC_ALL="C")
    if zig is not None:
        environment["PELLUCID_ZIG"] = str(zig)
    elif shutil.which(target.compiler) is None:
        fail(f"{name} needs {target.compiler}: install the packages {COMPILERS[target.compiler]}")
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DPELLUCID_DOCTOR_ONLY=ON",
                    f"-DCMAKE_TOOLCHAIN_FILE={HERE / 'toolchains' / (name + '.cmake')}"],
                   check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "pellucid-doctor", "-j", str(jobs)], check=True, env=environment)
    return folder / "bin" / ("pellucid-doctor.exe" if name.startswith("windows") else "pellucid-doctor")


def write_tar(path, folder, files):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            entry.mode = 0o755 if name == "pellucid-doctor" else 0o644
            tar.addfile(entry, io.BytesIO(data))


def write_zip(path, folder, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}", WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, data)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def package(name, target, program, output, sources, wants_wheel, zig):
    """Writes the archive and the wheel. Returns their paths."""
    licenses = {"LICENSE": (ROOT / "LICENSE").read_bytes(), "NOTICES.txt": notices(name, sources, zig).encode()}
    folder = f"pellucid-doctor-{version()}-{name}"
    files = {program.name: program.read_bytes(), **licenses}
    if name.startswith("windows"):
        paths = [output / f"{folder}.zip"]
        write_zip(paths[0], folder, files)
    else:
        paths = [output / f"{folder}.tar.gz"]
        write_tar(paths[0], folder, files)
    if wants_wheel:
        paths.append(make_wheel(program, version(), target.wheel_tag, licenses, output))
        if paths[-1].stat().st_size > MAX_WHEEL_BYTES:
            fail(f"{paths[-1]}: {paths[-1].stat().st_size} bytes, more than {MAX_WHEEL_BYTES}")
    return paths


def expect_same_again(name, target, paths, zig, sources, asked):
    """Builds the target in a folder of another name, without ccache, and compares what is written with `paths`."""
    with tempfile.TemporaryDirectory() as temporary:
        again = pathlib.Path(temporary)
        os.environ["CCACHE_DISABLE"] = "1"
        program = build_program(name, target, again / "build", zig, asked.jobs)
        del os.environ["CCACHE_DISABLE"]
        for first, second in zip(paths, package(name, target, program, again, sources, asked.wheel, zig)):
            if sha256(first) != sha256(second):
                fail(f"{first.name}: expected the same bytes from a second build, found the sha256 {sha256(second)}")
    print("  a second build in another folder has the same bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS) + ", or all")
    parser.add_argument("--wheel", action="store_true", help="also write a wheel of each target")
    parser.add_argument("--twice", action="store_true", help="build again and expect the same bytes")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "doctor", help="folder to build in")
    parser.add_argument("--output", type=pathlib.Path, help="folder for archives and wheels; dist in the one above")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="list the targets and exit")
    asked = parser.parse_args()
    if asked.list or not asked.targets:
        for name, target in TARGETS.items():
            print(f"{name:16} {target.compiler:22} {target.ran}")
        return
    names = list(TARGETS) if asked.targets == ["all"] else asked.targets
    for name in names:
        if name not in TARGETS:
            fail(f"there is no target '{name}': choose from {', '.join(TARGETS)}")
    build = asked.build.resolve()
    build.mkdir(parents=True, exist_ok=True)
    output = (asked.output or build / "dist").resolve()
    output.mkdir(parents=True, exist_ok=True)
    sources = ROOT / ".sources"
    subprocess.run([sys.executable, HERE / "fetch_sources.py", sources], check=True, stdout=subprocess.DEVNULL)
    for name in names:
        target = TARGETS[name]
        start = time.monotonic()
        zig = find_zig(build) if target.compiler == "zig" else None
        program = build_program(name, target, build / name, zig, asked.jobs)
        seconds = time.monotonic() - start
        size = program.stat().st_size
        if size > MAX_PROGRAM_BYTES:
            fail(f"{program}: {size} bytes, more than {MAX_PROGRAM_BYTES}")
        print(f"{name}: {size / 1e6:.2f} MB in {seconds:.0f} s, {target.ran}: {program}", flush=True)
        paths = package(name, target, program, output, sources, asked.wheel, zig)
        for path in paths:
            print(f"  {path.stat().st_size / 1e6:.2f} MB  sha256 {sha256(path)}  {path}", flush=True)
        if asked.twice:
            expect_same_again(name, target, paths, zig, sources, asked)


main()
