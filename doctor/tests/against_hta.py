#!/usr/bin/env python3
"""Asks HTA, Meta's HolisticTraceAnalysis, and the doctor the same questions about real traces.

    against_hta.py [--python INTERPRETER] [--docs PAGE] PELLUCID [TRACES]

A third answer is computed here from the trace itself. The doctor must give that one. HTA must give it, too, or the one that
comes out when rules of HTA that are listed here are followed instead: then the difference is explained. Rows of the table that
is printed must stand in PAGE. INTERPRETER is the one that has HTA; TRACES is the folder PELLUCID_TRACES where it is not given.
"""
import argparse
import gzip
import importlib.util
import itertools
import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict, namedtuple
from decimal import Decimal
from pathlib import Path

TRACES = (
    "h100_transformer_train_tiny",
    "h100_bertsmall_eager",
    "mi300x_bertsmall_eager",
    "h100_qwen05b_eager",
    "mi300x_qwen05b_eager",
    "a100_sam_compiled_syncheavy_cudagraph",
    "a100_resnet_ddp_nccl_meta_rank0of2",
    "a100_tiny_cuda_sync_events",
    "mi300x_resnet_train_ckpt_rank0of8",
    "b200_vllm_moe_prefill_eager_nvjet_fmha",
    "mi_vllm_decode_hipgraph_full",
    "dlrm_v100_8rank/rank0",
)

# What HTA does otherwise, and for which questions; a difference must come from some of these.
RULES = {
    "rows": "every event with a stream counts as device activity, also host ops and wait marks",
    "steps": "with two or more steps, activities launched before the trace or after the last step are ignored",
    "first": "an activity whose launch is not in the trace counts as launched by the first event of the file",
    "previous": "a gap of a stream begins at the end of the activity that began last, not when all before it have ended",
    "copies": "only kernels overlap collectives, not copies",
    "calls": "only activities of eleven calls queue, not those of graphs, cuLaunchKernelEx, hipModuleLaunchKernel and others",
}
QUESTIONS = {
    "busy": ("rows", "steps"),
    "gaps of streams": ("steps", "first", "previous"),
    "kernels": ("rows", "steps"),
    "overlap": ("rows", "steps", "copies"),
    "queue": ("rows", "steps", "calls"),
}
COLLECTIVE = re.compile(r"nccl|rccl|multimem|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all", re.IGNORECASE)
QUEUEING = {
    "cudaMemsetAsync", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
    "runFunction - job_prep_and_submit_for_execution", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemcpyAsync",
    "hipMemsetAsync", "hipMemcpyWithStream",
}  # fmt: skip
ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")

Work = namedtuple("Work", "begin end name stream kind launch call")  # times in nanoseconds; launch: None is not known


def union(spans):
    """Spans that do not overlap, and cover what these cover."""
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(spans):
    return sum(end - begin for begin, end in spans)


def common_length(a, b):
    return length(a) + length(b) - length(union(a + b))


class Truth:
    """The answers, from the trace."""

    def __init__(self, path):
        with gzip.open(path) as file:
            events = json.load(file, parse_float=Decimal)["traceEvents"]
        is_span = events[0].get("ph") == "X" and events[0].get("cat", "Trace") != "Trace"
        self.first_begin = self.times(events[0])[0] if is_span else None
        spans = [e for e in events if e.get("ph") == "X" and e.get("cat", "Trace") != "Trace"]
        calls = {e["args"]["correlation"]: e for e in spans
                 if e["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
        steps = [self.times(e)[1] for e in spans if e["name"].startswith("ProfilerStep") and e["cat"] != "gpu_user_annotation"]
        self.last_step_end = max(steps) if len(steps) >= 2 else None
        self.rows = []
        for e in spans:
            stream = e.get("args", {}).get("stream", -1)
            if stream == -1 or not str(stream).isdigit():
                continue
            call = calls.get(e["args"].get("correlation"))
            launch = self.times(call)[0] if call else None
            self.rows.append(Work(*self.times(e), e["name"], int(stream), e["cat"], launch, call["name"] if call else None))
        self.rows.sort(key=lambda w: w.begin)
        most = max((float(e["ts"]) for e in spans), default=0.0)
        self.slack = {}
        self.double_ns = 1000 * math.ulp(most)  # what a time in a double may be off by

    @staticmethod
    def times(event):
        begin, duration = int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000)
        return begin, begin + duration

    def activities(self, rules):
        activities = self.rows if "rows" in rules else [w for w in self.rows if w.kind in ACTIVITIES]
        if "steps" in rules and self.last_step_end is not None:
            activities = [w for w in activities if w.launch is not None and w.launch <= self.last_step_end]
        return activities

    def answer(self, question, rules):
        activities = self.activities(rules)
        if question == "busy":
            return {"span": max(w.end for w in activities) - activities[0].begin, "busy": length(union([w[:2] for w in activities]))}
        if question == "gaps of streams":
            return self.gaps(activities, rules)
        if question == "kernels":
            sums = defaultdict(int)
            for w in activities:
                if w.kind not in ("gpu_memcpy", "gpu_memset"):
                    sums[w.name] += w.end - w.begin
            return dict(sums)
        if question == "overlap":
            is_collective = COLLECTIVE.search
            collectives = union([w[:2] for w in activities if is_collective(w.name)])
            others = union([w[:2] for w in activities if not is_collective(w.name)
                            and ("copies" not in rules or w.kind not in ("gpu_memcpy", "gpu_memset"))])
            if not collectives:
                return {}
            return {"percent": 100 * common_length(collectives, others) / length(collectives)}
        return self.queues(activities, rules)

    def gaps(self, activities, rules):
        answer, ends = {}, {}
        for w in activities:
            idle, late = f"idle of {w.stream}", f"not yet launched by {w.stream}"
            if w.stream not in ends:
                answer[idle] = answer[late] = 0
                ends[w.stream] = w.end
                continue
            gap = w.begin - ends[w.stream]
            if gap > 0 or "previous" in rules:
                answer[idle] += gap
                launch = self.first_begin if w.launch is None and "first" in rules else w.launch
                if launch is not None and launch > ends[w.stream]:
                    answer[late] += gap
            ends[w.stream] = w.end if "previous" in rules else max(ends[w.stream], w.end)
        return answer

    def queues(self, activities, rules):
        changes = defaultdict(list)
        for w in activities:
            if w.launch is None or ("calls" in rules and w.call not in QUEUEING):
                continue
            changes[w.stream] += [(min(w.launch, w.begin), 1), (w.begin, -1)]
        answer = {}
        for stream, list_ in changes.items():
            list_.sort(key=lambda change: (change[0], -change[1]))
            depth, depths, weighted = 0, [], 0
            for (time, change), following in itertools.zip_longest(list_, list_[1:]):
                depth += change
                depths.append(depth)
                weighted += depth * (following[0] - time) if following else 0
            passed = list_[-1][0] - list_[0][0]
            answer[f"most in {stream}"] = max(depths)
            answer[f"mean of {stream} by time"] = weighted / passed if passed else 0
            answer[f"mean of {stream} by changes"] = sum(depths) / len(depths)
            # HTA sorts launches and activities of one time in any order, and a swap of two changes one depth by two.
            times = defaultdict(lambda: {1: 0, -1: 0})
            for time, change in list_:
                times[time][change] += 1
            self.slack[f"mean of {stream} by changes"] = sum(2 * at[1] * at[-1] for at in times.values()) / len(depths)
        return answer


class Doctor:
    def __init__(self, program, path):
        ran = subprocess.run([program, "doctor", path, "--json", "--only", "device_time,kernels,dispatch"],
                             capture_output=True, text=True, check=True)  # fmt: skip
        self.findings = json.loads(ran.stdout)["findings"]

    def answer(self, question):
        time, dispatch = self.findings["device_time"]["facts"], self.findings["dispatch"]["tables"]
        if question == "busy":
            return {"span": time["span_ns"], "busy": time["busy_ns"]}
        if question == "gaps of streams":
            return {key: value for row in dispatch["streams"] for key, value in
                    ((f"idle of {row['stream']}", row["idle_ns"]), (f"not yet launched by {row['stream']}", row["late_ns"]))}
        if question == "kernels":
            sums = defaultdict(int)
            for row in self.findings["kernels"]["tables"]["kernels"]:
                sums[row["name"]] += row["time_ns"]
            return dict(sums)
        if question == "overlap":
            return {"percent": time["collectives_hidden"]} if "collectives_hidden" in time else {}
        return {key: value for row in dispatch["streams"] if row["queue_max"] for key, value in
                ((f"most in {row['stream']}", row["queue_max"]), (f"mean of {row['stream']} by time", row["queue_mean"]))}


class Hta:
    def __init__(self, path):
        from hta.trace_analysis import TraceAnalysis

        self.analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir="", include_last_profiler_step=True)

    def answer(self, question):
        if question == "busy":
            row = self.analysis.get_temporal_breakdown(visualize=False).iloc[0]
            span = row["kernel_time(us)"]
            return {"span": 1000 * span, "busy": 1000 * (span - row["idle_time(us)"])}
        if question == "gaps of streams":
            # BreakdownAnalysis and not TraceAnalysis, which rounds to two digits.
            from hta.analyzers.breakdown_analysis import BreakdownAnalysis

            rows, _ = BreakdownAnalysis.get_idle_time_breakdown(self.analysis.t, 30, visualize=False)
            answer = {}
            for _, row in rows.iterrows():
                idle, late = f"idle of {row['stream']}", f"not yet launched by {row['stream']}"
                answer[idle] = answer.get(idle, 0) + 1000 * row["idle_time"]
                answer[late] = answer.get(late, 0) + (1000 * row["idle_time"] if row["idle_category"] == "host_wait" else 0)
            return answer
        if question == "kernels":
            _, rows = self.analysis.get_gpu_kernel_breakdown(visualize=False, duration_ratio=1.0, num_kernels=1 << 20,
                                                              include_memory_kernels=False)
            return {row["name"]: 1000 * row["sum (us)"] for _, row in rows.iterrows()}
        if question == "overlap":
            percent = self.analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
            return {} if math.isnan(percent) else {"percent": percent}
        rows = self.analysis.get_queue_length_summary(ranks=[0])
        return {key: value for (_, stream), row in rows["queue_length"].iterrows() for key, value in
                ((f"most in {stream}", row["max"]), (f"mean of {stream} by changes", row["mean"]))}


def differences(answer, truth, tolerance):
    """Keys that only one has, and those whose numbers are further apart than the tolerance. There are two ways to mean a
    queue, and each answer has one of them."""
    of_interest = [key for key in truth if key in answer or not key.endswith((" by time", " by changes"))]
    missing = [key for key in {*answer, *of_interest} if key not in answer or key not in truth]
    return missing + [key for key in answer if key in truth and not abs(answer[key] - truth[key]) <= tolerance(key, truth[key])]


def tolerance_of(question, truth, of_doubles):
    """Sums of times in doubles are off by what each of them is; HTA's percents have two digits."""
    activities = len(truth.rows)
    if question == "overlap":
        return lambda key, value: 0.01
    if question == "queue":
        return lambda key, value: 0 if key.startswith("most") else 0.001 * abs(value) + truth.slack.get(key, 0)
    if not of_doubles:
        return lambda key, value: 0
    each = 1.0 if question == "kernels" else 1.0 + truth.double_ns
    return lambda key, value: each * activities


def explain(question, truth, answer):
    """The fewest rules that give HTA's answer; None where none do."""
    tolerance = tolerance_of(question, truth, of_doubles=True)
    rules = QUESTIONS[question]
    for count in range(len(rules) + 1):
        for chosen in itertools.combinations(rules, count):
            if not differences(answer, truth.answer(question, chosen), tolerance):
                return chosen
    return None


def compare(program, path, name, problems):
    truth, doctor, hta = Truth(path), Doctor(program, path), Hta(path)
    cells = [name.split("/")[0] if "/" not in name else name.replace("/", " ")]
    for question in QUESTIONS:
        ours, exact = doctor.answer(question), truth.answer(question, ())
        for key in differences(ours, exact, tolerance_of(question, truth, of_doubles=False)):
            problems.append(f"{name}: {question}: {key}: the doctor has {ours.get(key)}, the trace {exact.get(key)}")
        theirs = hta.answer(question)
        if not theirs and not exact:
            cells.append("none")
            continue
        chosen = explain(question, truth, theirs)
        if chosen is None:
            off = differences(theirs, exact, tolerance_of(question, truth, of_doubles=True))
            problems += [f"{name}: {question}: {key}: HTA has {theirs.get(key)}, the trace {exact.get(key)}" for key in off]
        cells.append("?" if chosen is None else ", ".join(chosen) or "=")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    parser.add_argument("--docs")
    parser.add_argument("program")
    parser.add_argument("traces", nargs="?", default=os.environ.get("PELLUCID_TRACES"))
    arguments = parser.parse_args()
    if importlib.util.find_spec("hta") is None:
        if arguments.python and os.path.exists(arguments.python) and "PELLUCID_HTA_TRIED" not in os.environ:
            os.environ["PELLUCID_HTA_TRIED"] = "1"
            os.execv(arguments.python, [arguments.python, *sys.argv])
        print("HTA is not installed: ./dev setup --peers")
        return 0
    if not arguments.traces:
        print("there are no traces: set PELLUCID_TRACES")
        return 0
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # otherwise it makes whole microseconds of all times
    import logging
    import warnings

    warnings.simplefilter("ignore")  # of pandas, about HTA
    logging.disable(logging.CRITICAL)
    problems = []
    page = Path(arguments.docs).read_text(encoding="utf-8") if arguments.docs else None
    for name in TRACES:
        row = compare(arguments.program, Path(arguments.traces) / f"{name}.json.gz", name, problems)
        print(row, flush=True)
        if page is not None and row not in page:
            problems.append(f"{name}: this row does not stand in {arguments.docs}")
    print("\n".join(problems) or f"{len(TRACES)} traces, {len(QUESTIONS)} questions: equal, or the difference is explained")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
