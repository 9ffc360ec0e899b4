#!/usr/bin/env python3
"""Counts the instructions of one call of every case and compares them with bench/instructions.json.

Counts do not depend on how busy the machine is, so this check works where timing does not. A case is run
twice, with different numbers of calls; the difference excludes start-up.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import CannotRun, Server, find_executable

BUDGETS = pathlib.Path(__file__).resolve().parent / "instructions.json"
FEW, MANY = 1000, 3000  # calls
EXIT_OVER = 1
EXIT_CANNOT_RUN = 2


def total_instructions(executable, case, iters):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        command += [*executable, "--case", case, "--iters", str(iters)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            raise CannotRun("valgrind is not installed") from None
        if done.returncode != 0:
            raise CannotRun(f"{shlex.join(command)} ended with code {done.returncode}\n{done.stderr.strip()}")
        return parse_total(out.read_text())


def parse_total(profile):
    total = re.search(r"^(?:summary|totals): (\d+)", profile, re.MULTILINE)
    if not total:
        raise CannotRun("callgrind's output has no total")
    return int(total.group(1))


def instructions_per_call(executable, case):
    few, many = (total_instructions(executable, case, iters) for iters in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def check_names(name, executable, budgets):
    with Server(executable) as server:
        served = set(server.cases())
    if served != set(budgets):
        names = ", ".join(sorted(served ^ set(budgets)))
        raise CannotRun(f"bench_{name} and the budgets must name the same cases; only one of them names: {names}")


def table(rows):
    head = f"{'benchmark':<14} {'case':<14} {'instructions per call':>22} {'budget':>10}   verdict"
    lines = [head, "-" * len(head)]
    for name, case, count, budget in rows:
        verdict = "within" if count <= budget else "over"
        lines.append(f"{name:<14} {case:<14} {count:>22,.1f} {budget:>10,}   {verdict}")
    return "\n".join(lines)


def advice(rows, commands):
    lines = []
    for name, case, count, budget in rows:
        if count > budget:
            profile = f"valgrind --tool=callgrind {shlex.join(commands[name])} --case {case} --iters {MANY}"
            lines += [
                f"{name} {case}: {count:,.1f} instructions, over its budget of {budget:,}.",
                f"  Find the cause with: {profile}",
                "  and then: callgrind_annotate callgrind.out.*",
            ]
    if lines:
        lines.append("If it is worth the cost, raise the budget in bench/instructions.json.")
    for name, case, count, budget in rows:
        if count < 0.8 * budget:
            tight = math.ceil(1.05 * count)
            lines.append(f"{name} {case}: far below its budget; lower it to {tight:,} to keep the gain.")
    return "\n".join(lines)


def count_all(budgets, folder, jobs):
    commands = {name: find_executable(folder, f"bench_{name}") for name in budgets}
    for name, cases in budgets.items():
        check_names(name, commands[name], cases)
    keys = [(name, case) for name, cases in budgets.items() for case in cases]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        counts = list(pool.map(lambda key: instructions_per_call(commands[key[0]], key[1]), keys))
    return [(name, case, count, budgets[name][case]) for (name, case), count in zip(keys, counts)], commands


def summary(rows):
    def nested(column):
        result = {}
        for row in rows:
            result.setdefault(row[0], {})[row[1]] = row[column]
        return result

    return {
        "bench": "instructions",
        "instructions": nested(2),
        "budgets": nested(3),
        "ok": all(count <= budget for _, _, count, budget in rows),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Compares instruction counts with their budgets.")
    parser.add_argument("--bench-dir", required=True, metavar="DIR", help="where to look for the executables")
    parser.add_argument("--budgets", type=pathlib.Path, default=BUDGETS, metavar="FILE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    try:
        rows, commands = count_all(json.loads(options.budgets.read_text()), options.bench_dir, options.jobs)
    except CannotRun as error:
        print(f"instructions: {error}", file=sys.stderr)
        return EXIT_CANNOT_RUN
    print(table(rows), end="\n\n")
    if hints := advice(rows, commands):
        print(hints, end="\n\n")
    result = summary(rows)
    print(json.dumps(result), flush=True)
    return 0 if result["ok"] else EXIT_OVER


if __name__ == "__main__":
    sys.exit(main())
