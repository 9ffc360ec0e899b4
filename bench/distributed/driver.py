#!/usr/bin/env python3
"""Measures all_reduce between two ranks of this machine against gloo of torch.distributed: ./dev bench distributed [--check] [--pairs N].

Four processes live throughout: two ranks of ours, two of the peer. They take turns, each with one line of the same size, and a
ratio is taken of the medians of two neighbouring turns. --check exits 1 if a goal of goals.json is missed.
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
    def __init__(self, command):
        port = str(unused_port())
        self.ranks = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={
                **os.environ, "PELLUCID_THREADS": "1", "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}) for rank in range(2)]

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    goals = json.loads((HERE / "goals.json").read_text(encoding="utf-8"))
    ours = Side([str(ROOT / "build/release/bin/bench_all_reduce")])
    peer = Side([sys.executable, str(HERE / "peer_all_reduce.py")])
    print(f"{'all_reduce, 2 ranks':20} {'us ours':>10} {'us gloo':>10} {'fastest':>10} {'fastest':>10} {'ratio':>7}  95 % interval  goal")
    rows = {}
    for name, (size, repeats) in CASES.items():
        pairs = [(ours.run(size, repeats), peer.run(size, repeats)) for _ in range(options.pairs)]
        ratios = [a[1] / b[1] for a, b in pairs]
        low, high = median_interval(ratios)
        verdict = judge(low, high, goals[name])
        rows[name] = (statistics.median(ratios), [low, high], verdict)
        median = [statistics.median(pair[side][1] for pair in pairs) / 1000 for side in (0, 1)]
        fastest = [min(pair[side][0] for pair in pairs) / 1000 for side in (0, 1)]
        print(f"{name:20} {median[0]:10.1f} {median[1]:10.1f} {fastest[0]:10.1f} {fastest[1]:10.1f} {statistics.median(ratios):7.3f}"
              f"  [{low:.3f}, {high:.3f}]  {goals[name]} {verdict}")
    ours.close()
    peer.close()
    is_ok = all(verdict != "missed" for _, _, verdict in rows.values())
    print(json.dumps({"bench": "distributed", "peer": "gloo of torch.distributed, 2 ranks of this machine",
                      "ratios": {name: rounded(row[0]) for name, row in rows.items()},
                      "intervals": {name: [rounded(end) for end in row[1]] for name, row in rows.items()},
                      "goals": goals, "verdicts": {name: row[2] for name, row in rows.items()}, "ok": is_ok}), flush=True)
    return EXIT_MISSED if options.check and not is_ok else 0


if __name__ == "__main__":
    sys.exit(main())
