#!/usr/bin/env python3
"""Runs all benchmarks, or those that are named, one after the other, and records their figures.

    ./dev bench all [NAME]... [--report] [--check] [--results FILE] [--minutes N]

Each benchmark is `./dev bench NAME`. One that fails is recorded with its reason, and the next one begins. The file of results is
written after each, so a run that was interrupted continues with the names that are missing: those of the same commit on the same
machine stay in the file, others are dropped. --report then writes the page docs/benchmarks.md from the file (report.py).
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import report
from run import EXIT_CANNOT_RUN, EXIT_MISSED

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "benchmarks.json"
MINUTES = 150  # of one benchmark; the longest, gemm and nn, take about an hour


def benchmarks(folder=ROOT / "bench"):
    """Returns {name: tables} in the order of names. A driver of its own, which has goals.json, is one table."""
    found = {}
    for path in sorted(folder.glob("*/*.json")):
        found.setdefault(path.parent.name, []).append(path.parent.name if path.stem == "goals" else path.stem)
    return found


def figures_in(line):
    """Returns the figures of a table if this is their line, else None."""
    if not line.startswith('{"bench"'):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def last_error(lines):
    """Returns the line that says most likely why a benchmark failed."""
    for line in reversed(lines):
        if re.match(r"\S*(?:bench|error|problem|ninja|CMake Error)\b.*:", line) or ": error:" in line or re.match(r"\w*Error: ", line):
            return line.strip()
    return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")


def run_one(command, minutes):
    """Runs a command and shows its output. Returns its tables, and why it did not end well or None."""
    tables, lines = [], []
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               text=True, errors="replace", start_new_session=True)
    ended = threading.Event()

    def stop():
        if not ended.is_set():
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(60 * minutes, stop)
    timer.start()
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            table = figures_in(line)
            if table:
                tables.append(table)
            else:
                lines = [*lines[-200:], line]
        code = process.wait()
    finally:
        ended.set()
        is_late = not timer.is_alive()
        timer.cancel()
        if process.poll() is None:  # interrupted
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
    if is_late:
        return tables, f"it was stopped after {minutes:g} minutes"
    is_missed = code == EXIT_MISSED and any(not table.get("ok", True) for table in tables)  # with --check
    return tables, None if code == 0 or is_missed else f"it ended with {code}: {last_error(lines)}"


def merged(old, new):
    """Returns the record to continue with: that of the file if commit and machine are the same."""
    if not old or any(old.get(key) != new[key] for key in ("schema", "commit", "machine", "versions")):
        return new
    return {**new, "results": old["results"], "failures": old["failures"]}


def command_of(*options):
    return lambda name: [str(ROOT / "dev"), "bench", name, *options]


def run_all(chosen, record, write, minutes, command):
    """Runs the benchmarks {name: tables}, and completes the record after each."""
    for name, tables in chosen.items():
        print(f"\n== {name}", flush=True)
        begin = time.monotonic()
        figures, problem = run_one(command(name), minutes)
        for kept in ("results", "failures"):
            record[kept] = [entry for entry in record[kept] if entry["benchmark"] != name]
        record["results"] += [{"benchmark": name, **table} for table in figures]
        missing = [table for table in tables if table not in {each["bench"] for each in figures}]
        if missing or problem:
            record["failures"].append({"benchmark": name, "tables": missing, "reason": problem or "it printed no figures"})
        write(record)
        print(f"== {name}: {len(figures)} of {len(tables)} tables in {(time.monotonic() - begin) / 60:.1f} minutes", flush=True)
    return record


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="./dev bench all", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--report", action="store_true", help="write docs/benchmarks.md from the results")
    parser.add_argument("--check", action="store_true", help="repeat inconclusive cases; a missed goal is not a failure here")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for one benchmark (default %(default)s)")
    asked = parser.parse_args(arguments)
    known = benchmarks()
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    chosen = {name: known[name] for name in asked.names or known}

    def write(record):
        asked.results.parent.mkdir(parents=True, exist_ok=True)
        asked.results.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    old = json.loads(asked.results.read_text(encoding="utf-8")) if asked.names and asked.results.is_file() else None
    record = run_all(chosen, merged(old, report.surroundings()), write, asked.minutes, command_of(*["--check"] * asked.check))
    for failure in record["failures"]:
        print(f"failed: {failure['benchmark']}: {failure['reason']}")
    print(f"{len(record['results'])} tables are in {asked.results}")
    if not record["results"]:
        return EXIT_CANNOT_RUN
    if asked.report:
        for path in report.write_page(record):
            print(f"written: {path}")
    return 1 if any(failure["benchmark"] in chosen for failure in record["failures"]) else 0


if __name__ == "__main__":
    sys.exit(main())
