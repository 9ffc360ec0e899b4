#!/usr/bin/env python3
"""The first hour with the doctor's wheel: installs it in a fresh environment and follows doctor/docs/install.md literally.

    tests/first_hour/doctor_wheel.py [--wheel FILE] [--reference PROGRAM]

Without --wheel, packaging/doctor/build.py builds it for this machine. Commands of the page that begin with `pip install` get the
file instead of the name, because the test needs no index. The trace is the smallest real one if PELLUCID_TRACES names a folder,
otherwise one of the doctor's tests. With --reference, the output of the installed program is compared with that of another
build, byte for byte.
"""
import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "doctor/docs/install.md"
SMALL = ROOT / "tests/inspect/launches.json"
TARGETS = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch64"}
BUILD_SECONDS = 1800
COMMAND_SECONDS = 120
MAX_WHEEL_BYTES = 2_000_000
# A block of the page that the test runs.
BLOCK = re.compile(r"<!-- first hour -->\n```sh\n(.*?)```\n", re.DOTALL)


def fail(message):
    sys.exit(f"doctor_wheel: {message}")


def say(message):
    print(f"doctor_wheel: {message}", flush=True)


def run(command, timeout, **options):
    """Returns the finished process; stops the test if it fails."""
    say(f"running {command if isinstance(command, str) else ' '.join(map(str, command))}")
    start = time.monotonic()
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    except subprocess.TimeoutExpired:
        fail(f"expected the command to end within {timeout} s")
    if ran.returncode != 0:
        fail(f"expected exit code 0, found {ran.returncode}\n{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}")
    say(f"  {time.monotonic() - start:.1f} s")
    return ran


def build_wheel(folder):
    target = TARGETS.get(platform.machine())
    if target is None or platform.system() != "Linux":
        fail(f"expected Linux on {' or '.join(TARGETS)}, found {platform.system()} on {platform.machine()}: give --wheel")
    run([sys.executable, ROOT / "packaging/doctor/build.py", "--wheel", "--output", folder, target], BUILD_SECONDS)
    return next(folder.glob("*.whl"))


def check_wheel(wheel):
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        fail(f"{wheel}: expected at most {MAX_WHEEL_BYTES} bytes, found {wheel.stat().st_size}")
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("/licenses/LICENSE", "/licenses/NOTICES.txt", "/METADATA", "/RECORD"):
        if not any(name.endswith(part) for name in names):
            fail(f"{wheel}: expected a file {part}, found {names}")
    say(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")


def find_trace():
    folder = os.environ.get("PELLUCID_TRACES")
    if not folder:
        say("PELLUCID_TRACES is not set: a trace of the tests is read instead of a real one")
        return SMALL
    return min(pathlib.Path(folder).rglob("*.json.gz"), key=lambda path: path.stat().st_size)


def fresh_environment(folder):
    """Returns an environment of variables in which the programs of a new virtual environment come first."""
    venv.create(folder / "venv", with_pip=True)
    kept = ("HOME", "LANG", "PIP_CONFIG_FILE", "PIP_INDEX_URL", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment["PATH"] = f"{folder / 'venv/bin'}:/usr/bin:/bin"
    return environment


def follow_page(folder, wheel, trace):
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    if not blocks:
        fail(f"{PAGE}: expected a block of commands after <!-- first hour -->, found none")
    environment = fresh_environment(folder)
    work = folder / "work"
    work.mkdir()
    if trace.suffix == ".gz":
        shutil.copy(trace, work / "trace.json.gz")
    else:
        import gzip
        (work / "trace.json.gz").write_bytes(gzip.compress(trace.read_bytes()))
    outputs = {}
    for line in "".join(blocks).splitlines():
        command = line.split("  #")[0].strip()
        if not command:
            continue
        if command == "pip install pellucid-doctor":
            command = f"pip install --no-index --disable-pip-version-check {wheel}"
        outputs[command] = run(["bash", "-c", command], COMMAND_SECONDS, cwd=work, env=environment).stdout
    return outputs, environment, work


def check_outputs(outputs, environment, work, reference):
    verdict = outputs.get("pellucid-doctor trace.json.gz")
    if not verdict:
        fail("the page has to show `pellucid-doctor trace.json.gz`, and the program has to print a report")
    if outputs.get("python -m pellucid_doctor trace.json.gz") != verdict:
        fail("expected `python -m pellucid_doctor` to print what the program prints")
    if b"</html>" not in (work / "report.html").read_bytes():
        fail("expected a page in report.html")
    if reference is None:
        return
    words = [sys.executable, ROOT / "packaging/doctor/same_output.py", "--limit", "3", reference,
             work.parent / "venv/bin/pellucid-doctor"]
    say(run(words, 600).stdout.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--reference", type=pathlib.Path, help="a native build to compare with: build/release/bin/pellucid-doctor")
    asked = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wheel = asked.wheel.resolve() if asked.wheel else build_wheel(folder / "dist")
        check_wheel(wheel)
        outputs, environment, work = follow_page(folder, wheel, find_trace())
        check_outputs(outputs, environment, work, asked.reference and asked.reference.resolve())
    say(f"fine, {time.monotonic() - start:.0f} s")


main()
