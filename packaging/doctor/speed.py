#!/usr/bin/env python3
"""Measures builds of pellucid-doctor against the first one, in turns: the ratio of the least wall times.

    packaging/doctor/speed.py [--rounds N] TRACE REFERENCE PROGRAM...
"""
import argparse
import resource
import subprocess
import time


def measure(program, trace):
    """Returns wall and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([program, trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("trace")
    parser.add_argument("programs", nargs="+")
    asked = parser.parse_args()
    least = {}
    for _ in range(asked.rounds):
        for program in asked.programs:
            least[program] = tuple(map(min, least.get(program, (1e9, 1e9)), measure(program, asked.trace)))
    wall, cpu = least[asked.programs[0]]
    for program in asked.programs:
        own_wall, own_cpu = least[program]
        print(f"{program}: wall {own_wall:.3f} s ({own_wall / wall:.2f}), CPU {own_cpu:.3f} s ({own_cpu / cpu:.2f})")


main()
