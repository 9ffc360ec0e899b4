#!/usr/bin/env python3
"""Times a benchmark against its peer and compares the ratios with their goals.

Ours and the peer run in two processes and alternate, on one core unless the benchmark requests more, because the
cores are shared and absolute times mean little. bench/README.md says how to read the table; bench/support/server.h defines the
protocol of the processes.
"""

import argparse
import json
import math
import os
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
BURST_NS = 3e6  # shorter than a scheduler's time slice, so that some bursts run undisturbed
BURSTS_PER_SAMPLE = 3  # a sample is the fastest of these
REST_S = 0.03  # before a burst on several cores: threads of the other side may still spin
SHORT_NS = 20e6  # calls up to this are warmed up after a rest, which leaves caches cold and threads asleep
ROUNDS_PER_PROCESS = 10  # the address layout shifts times by up to 3 %, so processes restart often
CONFIDENCE = 0.95
PAIRS, LIMIT = 50, 400
EXIT_MISSED = 1
EXIT_CANNOT_RUN = 2


class CannotRun(Exception):
    """The benchmark produced no figures. The message says what to do."""


def median_ranks(count, confidence=CONFIDENCE):
    """Returns the ranks, from 0, of the two samples that enclose the median, for any distribution of the samples."""
    below, low = 0.0, -1
    while True:
        below += math.comb(count, low + 1) / 2**count
        if below > (1 - confidence) / 2:
            break
        low += 1
    if low < 0:
        raise ValueError(f"{count} samples are too few for a {confidence:.0%} interval of the median")
    return low, count - 1 - low


def median_interval(samples):
    low, high = median_ranks(len(samples))
    ordered = sorted(samples)
    return ordered[low], ordered[high]


def judge(low, high, goal):
    if goal is None:
        return "no goal"
    if low > goal:
        return "missed"
    return "met" if high <= goal else "inconclusive"


def find_executable(folder, name):
    candidates = sorted(pathlib.Path(folder).rglob(name))
    found = [path for path in candidates if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        raise CannotRun(f"no executable {name} under {folder}")
    if len(found) > 1:
        raise CannotRun(f"more than one {name}: " + ", ".join(map(str, found)))
    return [str(found[0])]


def find_side(folder, name):
    """Returns the executable of one of our benchmarks, or the named peer."""
    return find_executable(folder, name if name.startswith("peer_") else f"bench_{name}")


def find_peer(folder, name, other=None):
    """Returns an executable, unless the peer is a script for the peers' Python."""
    if other:
        return find_side(folder, other)
    if script := next((ROOT / "bench").glob(f"*/peer_{name}.py"), None):
        return ["env", f"PYTHONPATH={ROOT / 'bench' / 'support'}", str(ROOT / ".peers" / "bin" / "python"), str(script)]
    return find_executable(folder, f"peer_{name}")


class Server:
    """One side of the benchmark, in its own process."""

    def __init__(self, command):
        self.command = command
        self.start()

    def start(self):
        try:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        except OSError as error:
            raise CannotRun(f"{shlex.join(self.command)}: {error.strerror}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.communicate()

    def restart(self):
        self.stop()
        self.start()

    def ask(self, request):
        try:
            self.process.stdin.write(request + "\n")
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self.process.wait()
            raise CannotRun(f"{shlex.join(self.command)} ended with code {code} at '{request}'")
        if answer.startswith("error"):
            raise CannotRun(f"{shlex.join(self.command)}: {answer}")
        return answer

    def cases(self):
        return self.ask("list").split()

    def nanoseconds(self, case, iters):
        return float(self.ask(f"run {case} {iters}"))


def pin_to_cores(count):
    """Pins this process; both servers inherit the cores. If that is refused, the ratios are only noisier."""
    try:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-count:])
    except (AttributeError, OSError):
        pass


@dataclass
class Side:
    bursts_per_sample = BURSTS_PER_SAMPLE
    server: Server
    rest: float = 0  # seconds
    iters: dict = field(default_factory=dict)  # per case
    is_short: dict = field(default_factory=dict)

    def calibrate(self, case):
        """Finds the number of calls that fills one burst, and warms the case up meanwhile."""
        iters = 1
        while True:
            nanoseconds = max(self.server.nanoseconds(case, iters), 1e-3)
            wanted = max(1, round(BURST_NS / nanoseconds))
            if wanted <= 2 * iters:
                break
            iters = min(wanted, 10 * iters)
        self.iters[case] = wanted
        self.is_short[case] = nanoseconds < SHORT_NS

    def restart(self, cases):
        self.server.restart()
        for case in cases:
            self.burst(case.name)  # the first burst of a process is slow

    def burst(self, case):
        if self.rest:
            time.sleep(self.rest)
            if self.is_short[case]:
                self.server.nanoseconds(case, 1)
        return self.server.nanoseconds(case, self.iters[case])


@dataclass
class FirstCalls:
    """Replaces a Side if each burst is the first call of a new process."""

    bursts_per_sample = 1
    server: Server

    def calibrate(self, case):
        pass

    def restart(self, cases):
        pass

    def burst(self, case):
        self.server.restart()
        return self.server.nanoseconds(case, 1)


@dataclass
class Case:
    name: str
    goal: float | None
    ours: list = field(default_factory=list)  # nanoseconds, one per pair
    peer: list = field(default_factory=list)

    def ratios(self):
        return [ours / peer for ours, peer in zip(self.ours, self.peer)]

    def ratio(self):
        return statistics.median(self.ratios())

    def interval(self):
        return median_interval(self.ratios())

    def verdict(self):
        return judge(*self.interval(), self.goal)


class GeometricMean:
    """The mean of all cases: one value per round, over the rounds that every case has."""

    name = "geometric mean"

    def __init__(self, cases, goal):
        self.cases, self.goal = cases, goal

    def ratios(self):
        rounds = zip(*(case.ratios() for case in self.cases))
        return [statistics.geometric_mean(ratios) for ratios in rounds]

    ratio, interval, verdict = Case.ratio, Case.interval, Case.verdict


def take_pair(case, ours, peer, rng):
    """Alternates the bursts of the two sides. Which one begins is random, so that neither has an advantage."""
    fastest = {id(ours): math.inf, id(peer): math.inf}
    order = [ours, peer]
    rng.shuffle(order)
    for _ in range(ours.bursts_per_sample):
        for side in order:
            fastest[id(side)] = min(fastest[id(side)], side.burst(case.name))
    case.ours.append(fastest[id(ours)])
    case.peer.append(fastest[id(peer)])


def measure(cases, ours, peer, pairs, limit, rng, progress):
    """Takes `pairs` of every case, then doubles the pairs of inconclusive ones until `limit`.

    Doubling keeps the number of looks at the data small: every look is one more chance of a wrong verdict.
    """
    for case in cases:
        ours.calibrate(case.name)
        peer.calibrate(case.name)
    pending, target = list(cases), pairs
    while pending:
        rounds = target - len(pending[0].ours)
        names = ", ".join(case.name for case in pending) if len(pending) <= 4 else f"{len(pending)} cases"
        progress.start(f"{names}: {rounds} pairs", rounds * len(pending))
        for index in range(rounds):
            if index % ROUNDS_PER_PROCESS == 0:
                ours.restart(pending)
                peer.restart(pending)
            # Round by round, so that a noisy second affects all cases a little and none much.
            for case in rng.sample(pending, len(pending)):
                take_pair(case, ours, peer, rng)
                progress.step()
        progress.finish()
        if target >= limit:
            return
        target = min(2 * target, limit)
        pending = [case for case in pending if case.verdict() == "inconclusive"]


class Progress:
    """A bar on a terminal, one line per batch elsewhere."""

    WIDTH = 24

    def __init__(self, stream):
        self.stream, self.bar = stream, stream.isatty()

    def start(self, title, total):
        self.title, self.total, self.done, self.drawn = title[:60], total, 0, None
        if not self.bar:
            print(title, file=self.stream, flush=True)

    def step(self):
        self.done += 1
        filled = self.WIDTH * self.done // self.total
        if self.bar and filled != self.drawn:
            self.drawn = filled
            self.stream.write(f"\r[{'#' * filled:<{self.WIDTH}}] {self.title}")
            self.stream.flush()

    def finish(self):
        if self.bar:
            self.stream.write("\r\033[K")
            self.stream.flush()


def time_text(time):
    return f"{time:,.1f}" if time < 1e6 else f"{time:,.0f}"


def ratio_text(ratio):
    return f"{ratio:.3f}" if ratio >= 0.1 else f"{ratio:.4f}"


def goal_text(goal):
    return "-" if goal is None else f"{goal:.2f}" if goal >= 0.1 else f"{goal:g}"


def interval_text(ends):
    return " .. ".join(map(ratio_text, ends))


def table(name, peer, cases, mean=None, unit="ns"):
    longest = max(statistics.median(times) for case in cases for times in (case.ours, case.peer))
    unit, scale = ("ms", 1e6) if unit == "ns" and longest >= 1e9 else (unit, 1)
    head = ["case", f"{unit} ours", f"{unit} peer", "ratio", "95 % interval", "goal", "verdict", "pairs"]
    rows = []
    for case in cases:
        rows.append(
            [
                case.name,
                time_text(statistics.median(case.ours) / scale),
                time_text(statistics.median(case.peer) / scale),
                ratio_text(case.ratio()),
                interval_text(case.interval()),
                goal_text(case.goal),
                case.verdict(),
                str(len(case.ours)),
            ]
        )
    if mean:
        ends = [interval_text(mean.interval()), goal_text(mean.goal), mean.verdict(), str(len(mean.ratios()))]
        rows.append([mean.name, "", "", ratio_text(mean.ratio()), *ends])
    name_width = max(12, *(len(case.name) for case in cases))

    def line(cells):
        case, ours, peer, ratio, interval, goal, verdict, pairs = cells
        return (
            f"{case:<{name_width}} {ours:>12} {peer:>12} {ratio:>8}   {interval:<16} {goal:>6}   "
            f"{verdict:<12} {pairs:>5}"
        )

    lines = [f"{name}: pellucid / {peer}", "", line(head), "-" * len(line(head)), *map(line, rows)]
    return "\n".join(lines)


def advice(name, cases):
    def chosen(verdict):
        return "".join(f" --case {case.name}" for case in cases if case.verdict() == verdict)

    lines = []
    if missed := chosen("missed"):
        lines.append(f"missed: run again with ./dev bench {name} --check{missed}")
    if undecided := chosen("inconclusive"):
        lines.append(f"inconclusive: measure more pairs with ./dev bench {name} --check --limit 1600{undecided}")
    return "\n".join(lines)


def rounded(ratio):
    return round(ratio, 4 if ratio >= 0.1 else 6)


def summary(name, cases, mean=None, description=None):
    cases = [*cases, mean] if mean else cases
    described = {key: description[key] for key in ("peer", "ours", "unit") if key in description} if description else {}
    return {
        "bench": name,
        **described,
        "ratios": {case.name: rounded(case.ratio()) for case in cases},
        "intervals": {case.name: [rounded(end) for end in case.interval()] for case in cases},
        "goals": {case.name: case.goal for case in cases if case.goal is not None},
        "verdicts": {case.name: case.verdict() for case in cases},
        "ok": all(case.verdict() != "missed" for case in cases),
    }


def read_description(folder, name):
    path = next(pathlib.Path(folder).glob(f"**/{name}.json"), pathlib.Path(folder) / f"{name}.json")
    try:
        description = json.loads(path.read_text())
        cases = [Case(case, entry["goal"]) for case, entry in description["cases"].items()]
        return description, cases
    except FileNotFoundError:
        raise CannotRun(f"no benchmark {name}: {path} does not exist") from None
    except (KeyError, TypeError, ValueError) as error:
        raise CannotRun(f"{path}: {error!r}; bench/README.md shows the format") from error


def check_names(described, ours, peer, is_shared):
    """`is_shared`: our executable serves another benchmark too, which may have more cases."""
    for server in (ours, peer):
        served = set(server.cases())
        if missing := ", ".join(sorted(described - served)):
            raise CannotRun(f"{shlex.join(server.command)} lacks the cases: {missing}")
        if server is ours and is_shared:
            continue
        if extra := ", ".join(sorted(served - described)):
            raise CannotRun(f"the goals do not name these cases; write null for no goal: {extra}")


def choose(cases, wanted):
    names = [case.name for case in cases]
    if unknown := ", ".join(sorted(set(wanted) - set(names))):
        raise CannotRun(f"there is no case {unknown}; the cases are: {', '.join(names)}")
    return [case for case in cases if not wanted or case.name in wanted]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description="Times a benchmark against its peer.")
    add = parser.add_argument
    add("name", metavar="NAME", help="the table described in bench/*/NAME.json")
    add("--check", action="store_true", help="repeat inconclusive cases; exit 1 if a goal is missed")
    add("--json", action="store_true", help="print only the JSON line")
    add("--case", action="append", default=[], metavar="CASE", help="only this case; may be repeated")
    add("--pairs", type=int, help=f"pairs per case (default: the benchmark's own, or {PAIRS})")
    add("--limit", type=int, help=f"maximum pairs per case with --check (default: the benchmark's own, or {LIMIT})")
    add("--seed", type=int, default=0, help="for the order within pairs (default %(default)s)")
    add("--build", default=ROOT / "build" / "release", metavar="FOLDER", help="where the executables are")
    add("--ours", type=shlex.split, metavar="COMMAND", help="instead of bench_NAME")
    add("--peer", type=shlex.split, metavar="COMMAND", help="instead of peer_NAME")
    add("--goals", default=ROOT / "bench", metavar="FOLDER", help="where NAME.json is, in any folder below")
    options = parser.parse_args(arguments)
    if options.pairs is not None and options.pairs < 6:
        parser.error("--pairs must be at least 6: fewer have no 95 % interval")
    return options


def run(options):
    description, cases = read_description(options.goals, options.name)
    pairs = options.pairs or description.get("pairs", PAIRS)
    limit = max(options.limit or description.get("limit", LIMIT), pairs) if options.check else pairs
    cores = description.get("cores", 1)
    rest = REST_S if cores > 1 else 0
    side = FirstCalls if description.get("first_calls") else lambda server: Side(server, rest)
    pin_to_cores(cores)
    with (
        Server(options.ours or find_side(options.build, description.get("ours", options.name))) as ours,
        Server(options.peer or find_peer(options.build, options.name, description.get("against"))) as peer,
    ):
        check_names({case.name for case in cases}, ours, peer, "ours" in description)
        cases = choose(cases, options.case)
        mean = GeometricMean(cases, description["mean"]) if "mean" in description and not options.case else None
        progress = Progress(sys.stderr)
        measure(cases, side(ours), side(peer), pairs, limit, random.Random(options.seed), progress)
    result = summary(options.name, cases, mean, description)
    if not options.json:
        print(table(options.name, description["peer"], cases, mean, description.get("unit", "ns")), end="\n\n")
        if hints := advice(options.name, cases):
            print(hints, end="\n\n")
    print(json.dumps(result), flush=True)
    return EXIT_MISSED if options.check and not result["ok"] else 0


def main(arguments=None):
    try:
        return run(parse(arguments))
    except CannotRun as error:
        print(f"bench: {error}", file=sys.stderr)
        return EXIT_CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main())
