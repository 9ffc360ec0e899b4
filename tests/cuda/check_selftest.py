#!/usr/bin/env python3
"""Runs tools/cuda_selftest on the driver of the tests, and reads its report: what it says, and that it finds a device that is wrong."""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SELFTEST = Path(__file__).resolve().parents[2] / "tools" / "cuda_selftest" / "run.py"


def run(build, driver, arguments, **variables):
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.md"
        done = subprocess.run([sys.executable, SELFTEST, "--build", build, "--driver", driver, "--report", report, *arguments],
                              env=dict(os.environ, **variables), capture_output=True, text=True, timeout=800, check=False)
        return done, report.read_text(encoding="utf-8") if report.exists() else ""


def expect(is_true, what, done, report):
    if not is_true:
        sys.exit(f"{what}\n--- output\n{done.stdout}{done.stderr}\n--- report\n{report}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--driver", required=True)
    options = parser.parse_args()

    # Without NVRTC the device cannot be used, and the report says so.
    done, report = run(options.build, options.driver, ["--share", "64", "--without", "audit"])
    if "no compiler: libnvrtc" in report:
        expect(done.returncode == 1 and "Nothing ran" in report, "a device that cannot be used should fail", done, report)
        print("NVRTC is not installed")
        sys.exit(77)
    expect(done.returncode == 0, "the self-test should pass on the driver of the tests", done, report)
    for wanted in ("| ran on | test driver |", "not hardware", "| conformance | ", "| bits, order and errors | ", " tests passed", "| compiled functions | ",
                   "| softmax over rows | ", "compute-sanitizer needs a GPU"):
        expect(wanted in report, f"expected {wanted!r} in the report", done, report)

    done, report = run(options.build, "/there/is/none.so", ["--without", "audit"])
    expect(done.returncode == 1 and "| ran on | nothing |" in report and "/there/is/none.so" in report,
           "a driver that is missing should fail, with its name", done, report)

    # A planted fault: some kernels do not run.
    done, report = run(options.build, options.driver, ["--share", "64", "--without", "audit,conformance,plans,benchmarks"],
                       PELLUCID_TEST_DRIVER_OMITS="1")
    expect(done.returncode == 1 and "| failed: " in report and "EveryOpHasTheBitsOfTheCpu" in report,
           "a device with other bits should fail", done, report)


if __name__ == "__main__":
    main()
