"""Times calls from Python against torch's, in turns.

    calls.py [--check]    --check fails if a goal is missed

ratio = pellucid / torch, the same shapes in the same process, median over pairs of bursts; each side's burst is the fastest of
three. Goals: 0.25 for ops that call the C++ function directly, 0.35 for any op by its record.
"""
import statistics
import sys
import timeit

import torch

import pellucid as pel

PAIRS = 60
CALLS = 2000

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


def burst(function):
    return min(timeit.repeat(function, number=CALLS, repeat=3)) / CALLS * 1e9


missed = False
print(f"{'call':22} {'ns ours':>8} {'ns torch':>9} {'ratio':>6} {'goal':>5}")
for name, goal, ours, theirs in CASES:
    pairs = [(burst(ours), burst(theirs)) for _ in range(PAIRS)]
    ratio = statistics.median(ours_ns / theirs_ns for ours_ns, theirs_ns in pairs)
    missed |= ratio > goal
    ours_ns, theirs_ns = (statistics.median(times) for times in zip(*pairs))
    print(f"{name:22} {ours_ns:8.0f} {theirs_ns:9.0f} {ratio:6.2f} {goal:5.2f}{'' if ratio <= goal else '  missed'}")
sys.exit(missed and "--check" in sys.argv)
