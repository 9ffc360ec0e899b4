#!/usr/bin/env python3
"""The doctor's wheel in a fresh environment, as doctor/docs/install.md has it.

    tests/first_hour/doctor_wheel.py [--wheel FILE] [--reference PROGRAM]

Without --wheel, packaging/doctor/build.py builds it for this machine. The command `pip install pellucid-doctor` of the page gets
the file instead of the name, because the test needs no index. The trace is the smallest real one if PELLUCID_TRACES names a
folder, otherwise one of the tests. With --reference, the output of the installed program is compared with that of another build,
byte for byte.
"""
import argparse
import gzip
import os
import platform
import shutil
import sys
import venv
import zipfile
from pathlib import Path

from door import ROOT, blocks, expect, main, run

PAGE = "doctor/docs/install.md"
SMALL = ROOT / "tests/inspect/launches.json"
TARGETS = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch64"}
BUILD_SECONDS = 1800
MAX_WHEEL_BYTES = 2_000_000


def build_wheel(folder):
    target = TARGETS.get(platform.machine()) if platform.system() == "Linux" else None
    expect(target, f"Expected Linux on {' or '.join(TARGETS)}, found {platform.system()} on {platform.machine()}: give --wheel.")
    run(sys.executable, ROOT / "packaging/doctor/build.py", "--wheel", "--output", folder / "dist", target, cwd=folder,
        seconds=BUILD_SECONDS)
    return next((folder / "dist").glob("*.whl"))


def check_wheel(wheel):
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.2f} MB")
    expect(size <= MAX_WHEEL_BYTES, f"{wheel}: expected at most {MAX_WHEEL_BYTES} bytes, found {size}.")
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("/licenses/LICENSE", "/licenses/NOTICES.txt", "/METADATA", "/RECORD"):
        expect(any(name.endswith(part) for name in names), f"{wheel}: expected a file {part}, found {names}.")


def put_trace(path):
    """Writes the trace that the page reads."""
    folder = os.environ.get("PELLUCID_TRACES")
    if folder:
        shutil.copy(min(Path(folder).rglob("*.json.gz"), key=lambda real: real.stat().st_size), path)
    else:
        print("PELLUCID_TRACES is not set: a trace of the tests is read instead of a real one")
        path.write_bytes(gzip.compress(SMALL.read_bytes()))


def open_door(folder, wheel, reference):
    wheel = wheel or build_wheel(folder)
    check_wheel(wheel)
    venv.create(folder / "venv", with_pip=True)
    work = folder / "work"
    work.mkdir()
    put_trace(work / "trace.json.gz")
    env = {"PATH": f"{folder / 'venv/bin'}:/usr/bin:/bin", "PYTHONPATH": "", "PYTHONHOME": ""}
    page = "".join(text for _, language, text in blocks(PAGE, "With pip") if language == "sh")
    printed = {}
    for command in filter(None, (line.split("  #")[0].strip() for line in page.splitlines())):
        by_file = command.replace("pip install pellucid-doctor", f"pip install --no-index {wheel}")
        printed[command] = run("sh", "-ec", by_file, cwd=work, env=env)

    report = printed.get("pellucid-doctor trace.json.gz", "")
    expect(report, f"{PAGE} has to show `pellucid-doctor trace.json.gz`, and the program has to print a report.")
    expect(printed.get("python -m pellucid_doctor trace.json.gz") == report,
           "Expected `python -m pellucid_doctor` to print what the program prints.")
    expect("</html>" in (work / "report.html").read_text(encoding="utf-8"), "Expected a page in report.html.")
    if reference:
        print(run(sys.executable, ROOT / "packaging/doctor/same_output.py", "--limit", "3", reference,
                  folder / "venv/bin/pellucid-doctor", cwd=folder, seconds=600).strip())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--reference", type=Path, help="a native build to compare with: build/release/bin/pellucid-doctor")
    asked = parser.parse_args()
    sys.exit(main(open_door, asked.wheel and asked.wheel.resolve(), asked.reference and asked.reference.resolve()))
