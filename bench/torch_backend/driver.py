#!/usr/bin/env python3
"""Measures torch.compile(backend="pellucid") against eager and Inductor, and compares the ratios with the goals in goals.json.

    ./dev bench torch_backend [--check] [--quick] [--only GROUP]... [--threads N] [--minutes N]

Groups: first_call, steady, training, memory, calls, turns. Each measurement is a process of its own (measure.py), and a ratio is taken within
one process, or between processes that alternate. --check exits 1 if a goal is missed; --quick runs small models without goals, to see that
everything works. When the minutes are used up, the remaining measurements are named and left out, and --check exits 1 too.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from run import EXIT_CANNOT_RUN, EXIT_MISSED, judge, median_interval  # noqa: E402

CACHE = HERE.parents[1] / "build" / "inductor_cache"
GROUPS = ("first_call", "steady", "training", "memory", "calls", "turns")
MODELS = ("geglu", "geglu_1_row", "gpt2", "gpt2_1_token", "llama", "bert", "vit", "resnet", "convnext", "unet")
FIRST = ("geglu", "gpt2_small", "llama_8_layers")
PROCESS_SECONDS = 900


@dataclass
class Row:
    group: str
    name: str
    unit: str  # "ratio" of ours to Inductor's, if not another
    samples: list
    goal: float | None = None
    note: str = ""

    @property
    def value(self):
        return statistics.median(self.samples)

    def quartiles(self):
        if len(self.samples) < 2:
            return self.value, self.value
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, high

    def interval(self):
        """Six samples and more have a 95 % interval of their median; of fewer all of them count."""
        return median_interval(self.samples) if len(self.samples) >= 6 else (min(self.samples), max(self.samples))

    def verdict(self):
        return judge(*self.interval(), self.goal)


@dataclass
class Bench:
    goals: dict
    quick: bool
    end: float
    threads: tuple  # the numbers of threads of steady and training
    rows: list = field(default_factory=list)
    problems: list = field(default_factory=list)

    def goal(self, *names):
        found = self.goals
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return None if self.quick else found

    def add(self, group, name, samples, goal=None, unit="ratio", note=""):
        row = Row(group, name, unit, samples, goal, note)
        self.rows.append(row)
        print(line(row), flush=True)

    def measure(self, *arguments, folder=CACHE, threads=None, then=None):
        """Runs measure.py and returns its JSON objects, after passing each to `then`; a failure or the end of the time is recorded."""
        words = [str(argument) for argument in arguments]
        left = self.end - time.monotonic()
        if left <= 0:
            self.problems.append(f"left out because the time is used up: {' '.join(words)}")
            return []
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder), "PELLUCID_CACHE": str(folder)}
        if threads is not None:
            environment["OMP_NUM_THREADS"] = str(threads)
        print(f"measuring: {' '.join(words)}  ({left / 60:.0f} minutes left)", file=sys.stderr, flush=True)
        process = subprocess.Popen([sys.executable, str(HERE / "measure.py"), *words], env=environment, stdout=subprocess.PIPE, text=True)
        seconds = min(left, PROCESS_SECONDS)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        results = []
        try:
            for text in process.stdout:
                if text.startswith("{"):
                    results.append(json.loads(text))
                    if then is not None:
                        then(results[-1])
            if process.wait():
                reason = f"stopped after {seconds:.0f} s" if timer.finished.is_set() else f"ended with {process.returncode}"
                self.problems.append(f"{reason}: {' '.join(words)}")
        finally:
            timer.cancel()
            process.kill()
        return results


def ratios(result, ours="pellucid", peer="inductor"):
    return [a / b for a, b in zip(result["samples"][ours], result["samples"][peer])]


def errors_text(result):
    milliseconds = ", ".join(f"{name} {statistics.median(times) * 1e3:.3g}" for name, times in result["samples"].items())
    return f"ms: {milliseconds}; /eager {statistics.median(ratios(result, peer='eager')):.2f}; " \
           f"difference {result['errors']['pellucid']:.0e}"


def first_call(bench):
    """Ours and Inductor, each into an empty folder and with that folder again: in turns, each in a new process."""
    for case in ("geglu",) if bench.quick else FIRST:
        rounds, parts = [], []
        for _ in range(1 if bench.quick else 3):
            with tempfile.TemporaryDirectory(prefix="caches-") as folder:
                calls = [bench.measure("first_call", case, backend, folder=folder, threads=1)
                         for backend in ("pellucid", "pellucid", "inductor", "inductor")]
            if not all(calls):
                continue
            rounds.append([call[0] for call in calls])
            cold, warm, theirs_cold, theirs_warm = rounds[-1]
            parts = [f"{name} {cold[name]:.3f}" for name in ("dynamo", "aot_autograd", "lowering", "capture_and_compile", "first_plan")
                     if cold[name] is not None]
            parts += [f"sum {cold['seconds']:.2f}, {warm['seconds']:.2f} warm",
                      f"Inductor {theirs_cold['seconds']:.2f} cold, {theirs_warm['seconds']:.2f} warm"]

        def add(name, goal, value, unit="ratio", note="", case=case, rounds=rounds):
            if rounds:
                bench.add("first_call", f"{case}, {name}", [value(*each) for each in rounds], bench.goal(goal, case), unit, note)

        add("to Inductor cold", "first_call_cold", lambda cold, warm, theirs, again: cold["seconds"] / theirs["seconds"],
            note="s: " + ", ".join(parts))
        add("to Inductor warm", "first_call_warm", lambda cold, warm, theirs, again: cold["seconds"] / again["seconds"])
        add("our share, seconds", "our_seconds", lambda cold, warm, theirs, again: cold["ours"], unit="s")
        add("our share of the call", "our_share", lambda cold, warm, theirs, again: cold["ours"] / cold["seconds"], unit="share")
        add("our share, kernels kept to none", "kept_to_none", lambda cold, warm, theirs, again: warm["ours"] / cold["ours"])
        add("our share, kernels kept, to all of Inductor warm", "kept_to_inductor_warm",
            lambda cold, warm, theirs, again: warm["ours"] / again["seconds"])


def in_turns(bench, group, prefix, cases, arguments, suffix):
    """Measures all cases in one process, and starts again after one that ends it. Returns the medians of the ratios."""
    pending, medians = list(cases), []

    def record(result):
        samples = ratios(result)
        bench.add(group, f"{prefix}{result['case']}, {suffix}", samples, bench.goal(f"{group}_each"), note=errors_text(result))
        medians.append(statistics.median(samples))

    while pending and time.monotonic() < bench.end:
        results = bench.measure(*arguments, *pending, threads=arguments[1], then=record)
        pending = pending[len(results) + 1:]  # the process ended at the case after the last result, or there is none
    if pending:
        bench.problems.append(f"left out because the time is used up: {group} {suffix}: {', '.join(pending)}")
    return medians


def steady(bench):
    means = []
    for threads in bench.threads:
        for dtype in ("float32",) if bench.quick else ("float32", "bfloat16"):
            cases = ("geglu", "convnext") if bench.quick else MODELS
            medians = in_turns(bench, "steady", "", cases, ["steady", threads, dtype, 1 if bench.quick else 6], f"{dtype}, {threads}")
            if medians:
                bench.add("steady", f"geometric mean, {dtype}, {threads}", [statistics.geometric_mean(medians)])
            means += medians
    if means:
        bench.add("steady", "geometric mean of all", [statistics.geometric_mean(means)], bench.goal("steady_mean"))


def training(bench):
    means = []
    for threads in bench.threads:
        cases = ("gpt2",) if bench.quick else ("gpt2", "llama")
        means += in_turns(bench, "training", "step of ", cases, ["training", threads, 1 if bench.quick else 10], f"{threads}")
    if means:
        bench.add("training", "geometric mean", [statistics.geometric_mean(means)], bench.goal("training_mean"))


def memory(bench):
    peaks = {}
    for backend in ("pellucid", "inductor", "eager"):
        for result in bench.measure("memory", "gpt2", backend, threads=2):
            peaks[backend] = result["bytes"]
    if {"pellucid", "inductor"} <= set(peaks) and peaks["inductor"]:
        text = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in peaks.items())
        bench.add("memory", "peak of a training step of gpt2", [peaks["pellucid"] / peaks["inductor"]], bench.goal("memory"), note=text)


def calls(bench):
    for result in bench.measure("add", 1 if bench.quick else 6, threads=1):
        microseconds = ", ".join(f"{name} {statistics.median(times) * 1e6:.2f}" for name, times in result["samples"].items())
        bench.add("calls", "a + b of 8 floats", ratios(result), bench.goal("add"), note=f"µs: {microseconds}")
        bench.add("calls", "a + b, below Python, µs", [seconds * 1e6 for seconds in result["below_python"]], bench.goal("add_below_python"), unit="µs")
    for result in bench.measure("new_size", threads=1):
        bench.add("calls", "a new size of a GPT-2 of 12 layers, ms", [seconds * 1e3 for seconds in result["seconds"]],
                  bench.goal("new_size"), unit="ms", note=f"{result['graphs']} graph")


def turns(bench):
    for result in bench.measure("turns", 1 if bench.quick else 6, threads=2):
        samples = [both / (a + b) for both, a, b in zip(*(result["samples"][name] for name in ("both", "torch", "ours")))]
        text = ", ".join(f"{name} {statistics.median(times) * 1e6:.0f}" for name, times in result["samples"].items())
        bench.add("turns", "torch and ours in turn, to the sum of both", samples, bench.goal("turns"), note=f"µs: {text}")


def line(row):
    low, high = row.quartiles()
    goal = "-" if row.goal is None else f"{row.goal:g}"
    verdict = "" if row.goal is None else row.verdict()
    return f"{row.name:<44} {row.value:>8.3f}  {low:>7.3f} .. {high:<7.3f} {goal:>6}  {verdict:<12} {row.note}".rstrip()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench torch_backend", description="Times torch.compile(backend=\"pellucid\").")
    parser.add_argument("--check", action="store_true", help="exit 1 if a goal is missed or a measurement failed")
    parser.add_argument("--quick", action="store_true", help="small models, few samples, no goals: a smoke test of two minutes")
    parser.add_argument("--only", action="append", choices=GROUPS, default=[], help="only this group; may be repeated")
    parser.add_argument("--threads", type=int, choices=(1, 2), help="steady and training with so many threads only; one also runs on a busy machine")
    parser.add_argument("--minutes", type=float, default=75.0, help="the time for all measurements (default %(default)s)")
    asked = parser.parse_args()
    threads = (1,) if asked.quick else (asked.threads,) if asked.threads else (1, 2)
    bench = Bench(json.loads((HERE / "goals.json").read_text(encoding="utf-8")), asked.quick, time.monotonic() + 60 * asked.minutes, threads)
    print(f"{'median, and quartiles of pairs':<44} {'ratio':>8}  {'quartiles':<18} {'goal':>6}  verdict", flush=True)
    for group in GROUPS:
        if not asked.only or group in asked.only:
            globals()[group](bench)
    missed = [row.name for row in bench.rows if row.goal is not None and row.verdict() == "missed"]
    for problem in bench.problems:
        print(f"problem: {problem}")
    if missed:
        print(f"missed: {'; '.join(missed)}")
    print(json.dumps({"bench": "torch_backend", "peer": "torch.compile with Inductor, from Python",
                      "ratios": {row.name: round(row.value, 4) for row in bench.rows},
                      "intervals": {row.name: [round(end, 4) for end in row.interval()] for row in bench.rows},
                      "units": {row.name: row.unit for row in bench.rows},
                      "goals": {row.name: row.goal for row in bench.rows if row.goal is not None},
                      "verdicts": {row.name: row.verdict() for row in bench.rows if row.goal is not None},
                      "ok": not missed and not bench.problems}), flush=True)
    if not bench.rows:
        return EXIT_CANNOT_RUN
    return EXIT_MISSED if asked.check and (missed or bench.problems) else 0


if __name__ == "__main__":
    sys.exit(main())
