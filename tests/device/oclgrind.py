"""Runs a share of the OpenCL device's kernels under Oclgrind: oclgrind.py DEVICE_TESTS

Oclgrind interprets kernels and reports data races and accesses outside of a buffer. Each block of memory is a buffer of its
own here (PELLUCID_TEST_SEGMENTS). A kernel with a race and a wrong index is run first: both must be reported.
PELLUCID_TEST_SHARE=N runs one op in N, 4 if it is not set.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ICD = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
# Bits of the walk over all ops are not compared: Oclgrind makes 255 of a bool that it extends in a vector.
WALK = "OpenCl.EveryOpHasTheBitsOfTheCpu"
COMPARED = "OpenClAttention.RandomCalls*:OpenClMatmul.BatchesHave*:OpenClMatmul.FusedOnes*:OpenCl.OptimizersTake*"
BROKEN = """kernel void broken(global int* to) {
  to[get_global_id(0) + 1] = 1;
  to[0] = (int)get_global_id(0);
}
"""


def reports_errors(folder):
    (folder / "broken.cl").write_text(BROKEN)
    (folder / "broken.sim").write_text("broken.cl\nbroken\n4 1 1\n1 1 1\n\n<size=16 fill=0>\n")
    command = ["oclgrind-kernel", "--data-races", "broken.sim"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    text = found.stdout + found.stderr
    return "Invalid write" in text and "data race" in text


def run(program, tests, folder):
    """Returns the output of the tests, what Oclgrind reported, and the status."""
    log = folder / "oclgrind.log"
    log.unlink(missing_ok=True)
    variables = {
        "OCL_ICD_VENDORS": str(ICD),
        "PELLUCID_TEST_SEGMENTS": "1",
        "PELLUCID_CACHE": str(folder),
        "PELLUCID_TEST_SHARE": os.environ.get("PELLUCID_TEST_SHARE") or "4",
    }
    command = ["oclgrind", "--data-races", "--max-errors", "20", "--log", str(log), program, f"--gtest_filter={tests}"]
    found = subprocess.run(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return found.stdout, log.read_text(errors="replace").strip() if log.exists() else "", found.returncode


def main():
    if shutil.which("oclgrind") is None or not ICD.exists():
        print("skipped: oclgrind is missing; ./dev setup installs it")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not reports_errors(folder):
            print("Oclgrind did not report a kernel with a race and a wrong index: is its installation complete?")
            return 1
        failed = False
        for tests in (WALK, COMPARED):
            text, errors, status = run(sys.argv[1], tests, folder)
            print(text + errors)
            has_run = "ops run by kernels of OpenCL" in text if tests == WALK else status == 0 and "SKIPPED" not in text
            if errors or not has_run:
                print(f"failed: {tests}: Oclgrind reported errors, or tests did not run or failed")
                failed = True
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
