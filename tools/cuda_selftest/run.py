#!/usr/bin/env python3
"""Tests kCuda on this machine, and writes one report: what ran, on what, and what failed.

  python3 tools/cuda_selftest/run.py                      # after ./dev build, on a machine with a GPU: 10 minutes
  python3 tools/cuda_selftest/run.py --driver build/release/lib/libcuda_test_driver.so --share 64    # without one

Parts: the device; conformance of every op on random sizes and layouts; bits of every op, order and errors; compiled functions and graphs; the audit of all kernels (with ptxas);
races and invalid accesses (with compute-sanitizer); benchmarks. Exits 1 if a part failed. A part that cannot run here is listed with
its reason, and does not fail.
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Tests that inject faults into the driver of the tests skip themselves on another driver.
DEVICE_TESTS = "Cuda.*:CudaPlans.*:CudaCalls.AreThoseOfThePage:CudaWithoutDriver.IsRefusedWithItsReason"
CONFORMANCE_TESTS = "Conformance.EveryOp*:Rows.EveryOp*"
CONFORMANCE_SHARE = 16  # of the cases: each needs kernels, which are compiled
RACE_TESTS = ("Cuda.EveryOpHasTheBitsOfTheCpu:Cuda.LongRowsAreReducedInTheOrderOfTheCpu:Cuda.MatmulsHaveTheOrderOfTheCpu:"
              "CudaPlans.ATransformerBlockHasTheBitsOfTheCpu:CudaPlans.AReplayIsOrderedWithOtherStreams")


class Part:
    """One part of the report: what ran, its result and the end of its output."""

    def __init__(self, name, result, seconds=0.0, output="", command=""):
        self.name, self.result, self.seconds, self.output, self.command = name, result, seconds, output, command

    @property
    def has_failed(self):
        return self.result.startswith("failed")


def run(name, command, environment, timeout):
    """Runs a program of tests; its result counts what passed, failed and was skipped."""
    began = time.monotonic()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
        output, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        output, status = (expired.stdout or b"").decode(errors="replace"), f"no end after {timeout} s"
    seconds = time.monotonic() - began
    passed = len(re.findall(r"^\[       OK \]", output, re.MULTILINE))
    skipped = len(set(re.findall(r"^\[  SKIPPED \] (\S+) \(", output, re.MULTILINE)))
    failed = sorted(set(re.findall(r"^\[  FAILED  \] (\w+[./]\S*)(?= \(\d+ ms\)|,)", output, re.MULTILINE)))
    if status != 0:
        result = f"failed: {', '.join(failed) or status}"
    elif passed == 0:
        result = "nothing ran"
    else:
        result = f"{passed} tests passed" + (f", {skipped} skipped" if skipped else "")
    shown = " ".join(str(word).replace(str(ROOT) + "/", "") for word in command)
    return Part(name, result, seconds, output, shown)


def measured(build, environment, arguments):
    """What the device is, and its benchmarks."""
    done = subprocess.run([build / "bin" / "pellucid-cuda-benchmarks", *arguments], env=environment, capture_output=True, text=True,
                          timeout=1800, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return (rows[0] if rows else None), rows[1:], done


def graphics_cards():
    if shutil.which("nvidia-smi") is None:
        return "nvidia-smi is not installed"
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or done.stderr.strip()


def time_of(row):
    return f"{row['ns'] / 1e6:.2f} ms" if row["ns"] >= 1e6 else f"{row['ns'] / 1e3:.1f} µs"


def written(device, rows, parts, share):
    """The report, in Markdown."""
    label = {"hardware": "**A GPU ran these tests.**",
             "test driver": "**The driver of the tests ran them, not hardware**: PTX was interpreted. Times say nothing of a GPU.",
             "nothing": "**Nothing ran: the device cannot be used.**"}[device["ran_on"]]
    lines = ["# CUDA self-test", "", label, "", "| | |", "|---|---|", f"| ran on | {device['ran_on']} |", f"| device | {device['name']} |",
             f"| refusal | {device['refusal'] or 'none'} |", f"| GPUs | {graphics_cards()} |",
             f"| machine | {platform.platform()} |", f"| share of the cases | 1 in {share} |", "", "| part | result | s |", "|---|---|---|"]
    lines += [f"| {part.name} | {part.result} | {part.seconds:.0f} |" for part in parts]
    if rows:
        lines += ["", "## Benchmarks", "", "| what | time of a call | rate |", "|---|---|---|"]
        lines += [f"| {row['what']} | {time_of(row)} | {row['rate']:g} {row['unit']} |" if row["unit"] else
                  f"| {row['what']} | {time_of(row)} | |" for row in rows]
    for part in parts:
        if part.command:
            last = part.output.splitlines()[-400 if part.has_failed else -12:]
            lines += ["", f"## {part.name[0].upper()}{part.name[1:]}", "", f"`{part.command}`", "", "```text", *last, "```"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--driver", default="libcuda.so.1", help="the library to load as the driver")
    parser.add_argument("--share", type=int, default=1, help="run one case in N")
    parser.add_argument("--report", type=Path, default=Path("cuda_selftest.md"))
    parser.add_argument("--without", default="", help="parts that are left out, such as audit,races")
    options = parser.parse_args()
    environment = dict(os.environ, PELLUCID_CUDA_DRIVER=options.driver, PELLUCID_TEST_SHARE=str(options.share),
                       PELLUCID_CACHE=os.environ.get("PELLUCID_CACHE", "off"))
    programs = {name: options.build / "bin" / name for name in ("conformance_tests", "device_tests", "compile_tests", "cuda_tests",
                                                              "pellucid-cuda-benchmarks")}
    for name, path in programs.items():
        if not path.exists():
            sys.exit(f"{path} is missing; build it: ninja -C {options.build} {name}")
    without = set(filter(None, options.without.split(",")))
    unknown = without - {"conformance", "bits", "plans", "audit", "races", "benchmarks"}
    if unknown:
        sys.exit(f"--without {', '.join(sorted(unknown))}: parts are conformance, bits, plans, audit, races and benchmarks")

    device, rows, done = measured(options.build, environment, ["--small"])
    if device is None:
        sys.exit(f"pellucid-cuda-benchmarks did not say what the device is:\n{done.stdout}{done.stderr}")
    parts = []
    if device["ran_on"] != "nothing":
        if "conformance" not in without:
            on_device = dict(environment, PELLUCID_TEST_DEVICE="cuda:0", PELLUCID_TEST_SHARE=str(CONFORMANCE_SHARE * options.share))
            parts.append(run("conformance", [programs["conformance_tests"], f"--gtest_filter={CONFORMANCE_TESTS}"], on_device, 7200))
        if "bits" not in without:
            parts.append(run("bits, order and errors", [programs["device_tests"], f"--gtest_filter={DEVICE_TESTS}"], environment, 7200))
        if "plans" not in without:
            parts.append(run("compiled functions", [programs["compile_tests"], "--gtest_filter=Devices/DevicePlans.*/cuda"], environment, 1800))
    if "audit" not in without:
        if shutil.which("ptxas") is None:
            parts.append(Part("audit of the kernels", "not run: ptxas of the CUDA toolkit is not on the PATH"))
        else:
            parts.append(run("audit of the kernels", [programs["cuda_tests"]], environment, 3600))
    if "races" not in without and device["ran_on"] != "nothing":
        if device["ran_on"] != "hardware":
            parts.append(Part("races", "not run: compute-sanitizer needs a GPU; the interpreter finds missing barriers and invalid accesses"))
        elif shutil.which("compute-sanitizer") is None:
            parts.append(Part("races", "not run: compute-sanitizer of the CUDA toolkit is not on the PATH"))
        else:
            slow = dict(environment, PELLUCID_TEST_SHARE=str(16 * options.share))
            for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
                command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", programs["device_tests"], f"--gtest_filter={RACE_TESTS}"]
                parts.append(run(tool, command, slow, 7200))
    if "benchmarks" not in without and device["ran_on"] == "hardware" and done.returncode == 0:
        _, rows, done = measured(options.build, environment, [])
    if done.returncode != 0:
        parts.append(Part("benchmarks", f"failed: exit status {done.returncode}", output=done.stdout + done.stderr,
                          command="build/release/bin/pellucid-cuda-benchmarks"))
    elif device["ran_on"] != "nothing":
        parts.append(Part("benchmarks", f"{len(rows)} measured" + ("" if device["ran_on"] == "hardware" else ", by an interpreter")))
    options.report.write_text(written(device, rows, parts, options.share), encoding="utf-8")
    print(f"{options.report}: ran on {device['ran_on']}")
    for part in parts:
        print(f"  {part.name}: {part.result}")
    return 1 if device["ran_on"] == "nothing" or any(part.has_failed or part.result == "nothing ran" for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
