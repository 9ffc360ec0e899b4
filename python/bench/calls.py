"""Times calls from Python against torch's, in turns.

    calls.py [--check]    --check fails if a goal is missed

ratio = pellucid / torch, the same shapes in the same process, one thread, median over pairs of bursts with its quartiles.
Goals: 0.25 for ops that call the C++ function directly, 0.35 for any op by its record. A goal is met if the upper quartile is.

Times are CPU times of the thread, and both sides' bursts take about as long. With wall times and equal numbers of calls the
side with the shorter burst fits between two preemptions, and a busy machine shortens its ratio: 0.03 was seen for 0.2.
"""
import statistics
import sys
import time

import torch

import pellucid as pel

PAIRS = 41
BURST_NS = 3_000_000

torch.set_num_threads(1)
pel.set_num_threads(1)
x, y = torch.randn(4), torch.randn(4)
a, b = pel.from_dlpack(x).clone(), pel.from_dlpack(y).clone()
m, n = torch.randn(4, 4), torch.randn(4, 4)
p, q = pel.from_dlpack(m).clone(), pel.from_dlpack(n).clone()

# (name, goal, ours, torch's)
CASES = [
    ("add(x, y)", 0.25, lambda add=pel.add: add(a, b), lambda add=torch.add: add(x, y)),
    ("x + y", 0.25, lambda: a + b, lambda: x + y),
    ("x * 2.0", 0.25, lambda: a * 2.0, lambda: x * 2.0),
    ("x.relu()", 0.25, lambda: a.relu(), lambda: x.relu()),
    ("matmul 4x4", 0.25, lambda f=pel.matmul: f(p, q), lambda f=torch.matmul: f(m, n)),
    ("sum(x)", 0.25, lambda f=pel.sum: f(a), lambda f=torch.sum: f(x)),
    ("add(x, y, alpha=2)", 0.35, lambda f=pel.add: f(a, b, alpha=2), lambda f=torch.add: f(x, y, alpha=2)),
    ("atan2(x, y)", 0.35, lambda f=pel.atan2: f(a, b), lambda f=torch.atan2: f(x, y)),
    ("fmod(x, y)", 0.35, lambda f=pel.fmod: f(a, b), lambda f=torch.fmod: f(x, y)),
    ("clamp(x, 0, 1)", 0.35, lambda f=pel.clamp: f(a, 0.0, 1.0), lambda f=torch.clamp: f(x, 0.0, 1.0)),
    ("x.view(2, 2)", 0.35, lambda: a.view(2, 2), lambda: x.view(2, 2)),
    ("cat([x, y])", 0.35, lambda f=pel.cat: f([a, b]), lambda f=torch.cat: f([x, y])),
]


def burst(function, calls):
    """Returns the CPU time of one call in nanoseconds."""
    repeats = range(calls)
    start = time.thread_time_ns()
    for _ in repeats:
        function()
    return (time.thread_time_ns() - start) / calls


def calls_per_burst(function):
    return max(1, int(BURST_NS / min(burst(function, 200) for _ in range(5))))


missed = False
print(f"{'call':22} {'ns ours':>8} {'ns torch':>9} {'ratio':>6} {'quartiles':>13} {'goal':>5}")
for name, goal, ours, theirs in CASES:
    counts = calls_per_burst(ours), calls_per_burst(theirs)
    pairs = [(burst(ours, counts[0]), burst(theirs, counts[1])) for _ in range(PAIRS)]
    low, ratio, high = statistics.quantiles([ours_ns / theirs_ns for ours_ns, theirs_ns in pairs], n=4)
    ours_ns, theirs_ns = (statistics.median(times) for times in zip(*pairs))
    missed |= high > goal
    print(f"{name:22} {ours_ns:8.0f} {theirs_ns:9.0f} {ratio:6.2f} {low:6.2f} {high:6.2f} {goal:5.2f}"
          f"{'' if high <= goal else '  missed'}", flush=True)
sys.exit(missed and "--check" in sys.argv)
