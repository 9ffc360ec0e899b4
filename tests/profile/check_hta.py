#!/usr/bin/env python3
"""Loads a trace with HTA, Meta's HolisticTraceAnalysis, and compares its answers with the profile's own:

    check_hta.py [--python INTERPRETER] TRACE.json

Next to the trace is TRACE.counts.json, written by write_sample. INTERPRETER is the one that has HTA.
"""
import argparse
import importlib.util
import json
import logging
import os
import sys
import time
import warnings


def events_of(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def busy_us(kernels):
    """The time in which at least one of them runs."""
    busy, last = 0.0, float("-inf")
    for begin, end in sorted((k["ts"], k["ts"] + k["dur"]) for k in kernels):
        busy += max(0.0, end - max(begin, last))
        last = max(last, end)
    return busy


class Comparison:
    def __init__(self):
        self.failures, self.count = [], 0

    def same(self, what, theirs, ours, tolerance=0.0):
        self.count += 1
        if not abs(theirs - ours) <= tolerance:
            self.failures.append(f"{what}: HTA has {theirs}, the profile {ours}")


def compare(trace_path, counts):
    from hta.trace_analysis import TraceAnalysis

    started = time.monotonic()
    analysis = TraceAnalysis(trace_files={0: trace_path}, trace_dir="", include_last_profiler_step=True)
    seconds = time.monotonic() - started
    frame = analysis.t.get_trace(0)
    symbols = analysis.t.symbol_table.get_sym_table()
    categories = frame["cat"].map(lambda number: symbols[number]).value_counts()

    found = Comparison()
    for category in ("cpu_op", "user_annotation", "kernel"):
        found.same(f"events of {category}", int(categories.get(category, 0)), counts[category])
    found.same("launches and waits", int(categories.get("cuda_runtime", 0)),
               counts["kernel"] + counts["copy"] + counts["wait"])
    found.same("events of gpu_memcpy", int(categories.get("gpu_memcpy", 0)), counts["copy"])

    # Times are sums of doubles in microseconds.
    rounding = 0.001 * (1 + counts["kernel"] / 1000)
    kernels = counts["kernels"]  # and copies, by their names
    _, by_name = analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=len(kernels) + 1)
    sums = dict(zip(by_name["name"], by_name["sum (us)"]))
    found.same("names of kernels", len(sums), len(kernels))
    for name, ours in kernels.items():
        found.same(f"time of {name}", sums.get(name, -1.0), ours["ns"] / 1000, rounding)

    events = events_of(trace_path)
    spans = [e for e in events if e.get("cat") == "kernel"]
    activities = spans + [e for e in events if e.get("cat") == "gpu_memcpy"]
    busy = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    reach = max(k["ts"] + k["dur"] for k in activities) - min(k["ts"] for k in activities)
    found.same("time from the first kernel or copy to the last", busy["kernel_time(us)"], reach, rounding)
    found.same("time in kernels", busy["compute_time(us)"], busy_us(spans), rounding)

    launches = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    found.same("launches with what they launched", len(launches), len(activities))
    found.same("time of what was launched", launches["gpu_duration"].sum(), sum(a["dur"] for a in activities), rounding)
    calls = {e["args"]["correlation"]: e for e in events
             if e.get("cat") == "cuda_runtime" and "correlation" in e["args"]}
    delays = [max(0.0, a["ts"] - calls[a["args"]["correlation"]]["ts"] - calls[a["args"]["correlation"]]["dur"])
              for a in activities]
    found.same("delay of launches", launches["launch_delay"].sum(), sum(delays), rounding)
    return found, len(frame), seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    parser.add_argument("trace")
    arguments = parser.parse_args()
    if importlib.util.find_spec("hta") is None:
        if arguments.python and os.path.exists(arguments.python) and "PELLUCID_HTA_TRIED" not in os.environ:
            os.environ["PELLUCID_HTA_TRIED"] = "1"
            os.execv(arguments.python, [arguments.python, __file__, arguments.trace])
        print("HTA is not installed: ./dev setup --peers")
        return 0
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # otherwise it makes whole microseconds of all times
    warnings.simplefilter("ignore")  # of pandas, about HTA
    logging.disable(logging.WARNING)
    with open(arguments.trace.removesuffix(".json") + ".counts.json", encoding="utf-8") as file:
        counts = json.load(file)
    found, events, seconds = compare(arguments.trace, counts)
    print("\n".join(found.failures) or f"HTA read {events} spans in {seconds:.1f} s; {found.count} numbers are the same")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
