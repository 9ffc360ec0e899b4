#!/usr/bin/env python3
"""Runs the steps of action.yml, the GitHub Action, as a runner would: with its files and variables, and the doctor that was built.

    check_action.py PELLUCID_DOCTOR

The step that installs the doctor from PyPI is only read: this machine need not reach it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests/inspect/launches.json"


def steps():
    """Returns {name: script} of the action's steps, without a reader of YAML: scripts are blocks that begin with `run: |`."""
    found, name, block = {}, None, None
    for line in (ROOT / "action.yml").read_text(encoding="utf-8").splitlines():
        indent = len(line) - len(line.lstrip())
        if block is not None and (line.strip() == "" or indent >= block):
            found[name] += line[block:] + "\n"
            continue
        block = None
        if match := re.match(r"\s*- name: (.*)", line):
            name = match[1]
        elif line.strip() == "run: |":
            found[name], block = "", indent + 2
    return found


def run(script, doctor, folder, **inputs):
    files = {key: os.path.join(folder, key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")}
    for path in files.values():
        pathlib.Path(path).write_text("", encoding="utf-8")
    programs = os.path.join(folder, "bin")
    os.makedirs(programs, exist_ok=True)
    link = pathlib.Path(programs, "pellucid-doctor")
    if not link.exists():
        link.symlink_to(pathlib.Path(doctor).resolve())
    done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], capture_output=True, text=True, timeout=60,
                          env={"PATH": f"{programs}:{os.environ['PATH']}", "RUNNER_TEMP": folder, **files, **inputs})
    return done, {key: pathlib.Path(path).read_text(encoding="utf-8") for key, path in files.items()}


def main():
    problems = []

    def check(holds, what):
        if not holds:
            problems.append(what)

    scripts = steps()
    check(list(scripts) == ["Install the doctor", "Diagnose"], f"the steps are {list(scripts)}")
    check('"pellucid-doctor==$VERSION"' in scripts["Install the doctor"], "the version of the doctor is not pinned")
    version = re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    check(f"default: {version}" in (ROOT / "action.yml").read_text(encoding="utf-8"), f"the default version is not {version}")
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "main.summary.json")
        for inputs, code, words, errors in (
                ({"EXPECT": "kernels == 12"}, 0, ["### launches.json: ", "| ✓ | `kernels == 12` | 12 |"], []),
                ({"EXPECT": "kernels <= 5; syncs >= 0"}, 1, ["| ✗ | `kernels <= 5` | 12 |"], ["kernels <= 5 does not hold: 12"]),
                ({"BEFORE": str(TRACE)}, 0, ["#### "], []),
                ({"SUMMARY": made}, 0, [], []),
                ({"BEFORE": made, "SUMMARY": made, "EXPECT": "more.kernels == 0"}, 0, ["#### From before to after", "| ✓ | `more.kernels == 0` |"], []),
                ({"BEFORE": made, "EXPECT": "more.kernels >= 1"}, 1, ["| ✗ | `more.kernels >= 1` |"], ["more.kernels >= 1 does not hold: 0: 12, 12 before"]),
                ({"TRACE": f"{TRACE}\n\n{TRACE}\n"}, 0, ["### launches.json: "], []),
                ({"TRACE": "no/trace with spaces.json", "SUMMARY": made + ".none"}, 3, [], [])):
            inputs = {"TRACE": str(TRACE), "BEFORE": "", "EXPECT": "", "SUMMARY": ""} | inputs
            done, files = run(scripts["Diagnose"], sys.argv[1], folder, **inputs)
            check(done.returncode == code, f"{inputs}: the code is {done.returncode}, not {code}: {done.stderr}")
            report = files["GITHUB_OUTPUT"].strip().removeprefix("report=")
            text = pathlib.Path(report).read_text(encoding="utf-8")
            check(text == files["GITHUB_STEP_SUMMARY"], f"{inputs}: summary and report differ")
            check((code == 3) == (not text) and (code == 3 or "overhead-bound" in done.stdout), f"{inputs}: the log is {done.stdout!r}")
            for word in words:
                check(word in text, f"{inputs}: there is no {word!r} in {text!r}")
            seen = [line for line in done.stdout.splitlines() if line.startswith("::error")]
            check(seen == [f"::error title=Pellucid doctor::{error}" for error in errors], f"{inputs}: errors are {seen}")
        check(os.path.getsize(made) <= 50_000 and not os.path.exists(made + ".none"), "summaries")
    for problem in problems:
        print(problem)
    print(f"action.yml: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
