"""The counterpart of server.h for peers that need Python: answers `list` and `run CASE ITERS` until `quit`."""

import itertools
import logging
import os
import pathlib
import sys
import time

logging.disable(logging.WARNING)  # torch warns about a missing GPU and triton: import this file before it

# Inductor's cache on disk, shared by later processes.
CACHE = pathlib.Path(__file__).resolve().parents[2] / "build" / "inductor_cache"


def compile_in(folder):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)


def nanoseconds_per_call(call, iters=1):
    start = time.perf_counter_ns()
    for _ in itertools.repeat(None, iters):
        call()
    return (time.perf_counter_ns() - start) / iters


def answer(cases, request):
    verb, *words = request.split() or [""]
    if verb == "list":
        return " ".join(cases)
    if verb != "run" or len(words) != 2 or words[0] not in cases or not words[1].isdecimal():
        return f"error: expected list, run CASE ITERS or quit, got '{request}'"
    try:
        return f"{cases[words[0]](int(words[1])):.4f}"
    except Exception as failure:
        return f"error: {words[0]}: " + (str(failure).splitlines() or [repr(failure)])[0]


def serve(cases):
    """`cases`: by name, a function from the number of calls to the nanoseconds per call."""
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        print(answer(cases, line.strip()), flush=True)
