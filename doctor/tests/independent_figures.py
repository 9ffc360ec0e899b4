#!/usr/bin/env python3
"""Computes figures of a trace from its JSON alone, in another way, and compares them with those of pellucid-doctor.

    independent_figures.py PELLUCID_DOCTOR [TRACE ...]

Without traces: all of the folder that PELLUCID_TRACES names, and some that are made here. Utilisation, phases, modules, memory
and sends are compared: times to the nanosecond, sizes to the byte, FLOPs to the last. Which family a kernel belongs to is taken
from the doctor (its names have tests of their own); everything else is computed here.
"""
import bisect
import collections
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

CATEGORIES = {"Operator": "cpu_op", "Runtime": "cuda_runtime", "Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}
CALLS = ("cuda_runtime", "cuda_driver")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation", "python_function", "overhead", *CALLS)
RANK = {"python_function": 0, "user_annotation": 1, "cpu_op": 2}  # of equal times, which is around the other
BYTES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
         "c10::Float8_e4m3fnuz": 1, "c10::Float8_e5m2fnuz": 1, "signed char": 1, "unsigned char": 1, "bool": 1, "short": 2,
         "short int": 2, "int": 4, "long": 8, "long int": 8}
# Dense peaks in TFLOP/s, and GB/s, from the data sheets of the devices of the traces.
PEAKS = {
    "NVIDIA A100-PG509-200": ({"f32": 19.5, "tf32": 156, "bf16": 312, "f16": 312}, 1555),
    "NVIDIA A100-SXM4-40GB": ({"f32": 19.5, "tf32": 156, "bf16": 312, "f16": 312}, 1555),
    "NVIDIA A100-SXM4-80GB": ({"f32": 19.5, "tf32": 156, "bf16": 312, "f16": 312}, 2039),
    "NVIDIA B200": ({"bf16": 2250, "f8e4m3": 4500}, 7700),
    "NVIDIA H100 80GB HBM3": ({"f32": 67, "tf32": 494.7, "bf16": 989.4, "f16": 989.4}, 3350),
    "AMD Instinct MI300X": ({"f32": 163.4, "bf16": 1307.4, "f16": 1307.4}, 5300),
    "AMD Instinct MI300X VF": ({"f32": 163.4, "bf16": 1307.4, "f16": 1307.4}, 5300),
    "Tesla V100-SXM2-16GB": ({"f32": 15.7, "f16": 125}, 900),
    "Tesla V100-SXM2-32GB": ({"f32": 15.7, "f16": 125}, 900),
    "Tesla V100-DGXS-32GB": ({"f32": 15.7, "f16": 125}, 900),
}
PLAIN_FAMILIES = ("elementwise", "reduction", "norm", "softmax", "copy", "fill")
MATMULS = {"mm": (0, 1), "_scaled_mm": (0, 1), "_int_mm": (0, 1), "addmm": (1, 2), "_addmm_activation": (1, 2), "bmm": (0, 1),
           "baddbmm": (1, 2)}
TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "logical_not", "logical_and", "logical_or", "logical_xor")


def ns(value):
    return int(Decimal(value) * 1000)


class Event:
    def __init__(self, raw, number):
        self.number, self.name, self.args = number, raw.get("name", ""), raw.get("args") or {}
        self.cat = CATEGORIES.get(raw.get("cat", ""), raw.get("cat", ""))
        self.row = (str(raw.get("pid")), str(raw.get("tid")))
        self.begin, self.dur = ns(raw["ts"]), max(0, ns(raw["dur"]))
        self.end = self.begin + self.dur
        self.parent = None

    def ancestors(self):  # itself first
        e = self
        while e is not None:
            yield e
            e = e.parent


class Trace:
    def __init__(self, path):
        opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
        with opened as file:
            document = json.load(file, parse_float=Decimal)
        raw = document["traceEvents"]
        spans = [e for e in raw if e.get("ph") == "X"]
        self.spans = [Event(e, i) for i, e in enumerate(spans)]
        self.memory = [e for e in raw if e.get("ph") == "i" and e.get("name") == "[memory]"]
        self.names = {d["id"]: d.get("name", "") for d in document.get("deviceProperties", [])}
        self.rows = collections.defaultdict(list)
        for e in self.spans:
            if e.cat in HOST:
                self.rows[e.row].append(e)
        for row in self.rows.values():
            self.nest(row)
        self.find_launches()
        self.find_steps()
        self.find_forward()

    @staticmethod
    def nest(row):
        row.sort(key=lambda e: (e.begin, -e.dur, RANK.get(e.cat, 3), e.number))
        open_spans = []
        for e in row:
            while open_spans and open_spans[-1].end <= e.begin:
                open_spans.pop()
            e.parent = open_spans[-1] if open_spans else None
            open_spans.append(e)

    def find_launches(self):
        calls = {e.args["correlation"]: e for e in self.spans if e.cat in CALLS and "correlation" in e.args}
        self.activities = [e for e in self.spans if e.cat in DEVICE]
        external = lambda e: e.args.get("External id", e.args.get("external id"))
        as_ops = as_correlations = 0
        for a in self.activities:
            a.launch = calls.get(a.args.get("correlation"))
            a.device = a.args.get("device", a.row[0])
            if a.launch is None or external(a.launch) is None:
                continue
            op = self.op_of(a.launch)
            if op is not None and external(op) == external(a.launch):
                as_ops += 1
            elif external(a.launch) == a.launch.args.get("correlation"):
                as_correlations += 1
        by_id = {}
        if as_ops >= as_correlations:
            for row in self.rows.values():
                for e in row:
                    if e.cat == "cpu_op" and external(e):
                        by_id[external(e)] = e
        for a in self.activities:
            a.op = self.op_of(a.launch) if a.launch else None
            if a.op is None:
                a.op = by_id.get(external(a.launch or a))
        self.activities.sort(key=lambda a: (a.begin, a.number))

    @staticmethod
    def op_of(e):
        return next((a for a in e.ancestors() if a.cat == "cpu_op"), None)

    def find_steps(self):
        marks = {(e.begin, e.end, e.name) for e in self.spans if is_step(e)}
        self.steps = sorted(marks)
        self.is_marked = bool(self.steps)
        if not self.steps:
            spans = [e for e in self.spans if e.cat in HOST or e.cat in DEVICE]
            if spans:
                self.steps = [(min(e.begin for e in spans), max(e.end for e in spans), "the whole trace")]
        for a in self.activities:
            if self.is_marked:
                a.step = self.step_at(a.launch.begin) if a.launch else None
            else:
                a.step = 0

    def step_at(self, time):
        return next((i for i, (begin, end, _) in enumerate(self.steps) if begin <= time < end), None)

    def find_forward(self):
        self.forward = {}  # by number of the op
        first = {}
        for e in self.spans:
            if e.cat in HOST or e.cat in DEVICE:
                sequence = e.args.get("Sequence number")
                if sequence is not None and e.args.get("Fwd thread id", 0) == 0:
                    if sequence not in first or e.begin < first[sequence].begin:
                        first[sequence] = e
        for e in self.spans:
            sequence = e.args.get("Sequence number")
            if sequence is not None and e.args.get("Fwd thread id", 0) != 0 and sequence in first:
                self.forward[e.number] = first[sequence]

    def device_span(self):
        """Device time by step: busy, and the gap before each activity, for the step of the activity."""
        times = collections.Counter()
        by_device = collections.defaultdict(list)
        for a in self.activities:
            by_device[a.device].append(a)
        for activities in by_device.values():
            covered = activities[0].begin
            for a in activities:
                times[a.step] += max(a.end, covered) - covered  # what it adds, and the gap before it
                covered = max(covered, a.end)
        return times


def is_step(e):
    return e.cat in ("user_annotation", "cpu_op") and e.name.startswith("ProfilerStep")


# ---- utilisation


def numel(sizes):
    return math.prod(sizes)


def sizes_of(e):
    """Of each input; of a list of tensors, of its first; [] where it is neither."""
    dims = e.args.get("Input Dims")
    if dims is None:
        return None
    flat = []
    for dim in dims:
        while isinstance(dim, list) and dim and isinstance(dim[0], list):
            dim = dim[0]
        flat.append(dim if isinstance(dim, list) else [])
    return flat


DTYPES = {"float": "f32", "double": "f64", "c10::Half": "f16", "c10::BFloat16": "bf16", "c10::Float8_e4m3fn": "f8e4m3"}


def work_of(e):
    """FLOPs, bytes and type of an op by its own sizes, or None."""
    name = e.name.removeprefix("aten::")
    sizes = sizes_of(e)
    if sizes is None:
        return None
    types = e.args.get("Input type") or []
    type_at = lambda i: types[i] if i < len(types) else ""
    concrete = e.args.get("Concrete Inputs")
    if name in MATMULS:
        a, b = MATMULS[name]
        if len(sizes) <= b:
            return None
        rank = 3 if name in ("bmm", "baddbmm") else 2
        x, y = sizes[a], sizes[b]
        if len(x) != rank or len(y) != rank or x[-1] != y[-2]:
            return None
        batch = x[0] if rank == 3 else 1
        m, k, n = x[-2], x[-1], y[-1]
        return 2 * batch * m * n * k, BYTES.get(type_at(a), 0) * batch * (m * k + k * n + m * n), type_at(a)
    if name == "linear":
        if len(sizes) < 2 or not sizes[0] or len(sizes[1]) != 2 or sizes[0][-1] != sizes[1][1]:
            return None
        m, (n, k) = numel(sizes[0][:-1]), sizes[1]
        return 2 * m * n * k, BYTES.get(type_at(0), 0) * (m * k + k * n + m * n), type_at(0)
    attention = re.fullmatch(r"(flash_attn::_flash_attn|_flash_attention|_efficient_attention)_(forward|backward)"
                             r"|(?:_?scaled_dot_product(?:_flash|_efficient|_cudnn)?_attention)(_backward)?", name)
    if attention:
        is_backward = attention[2] == "backward" or attention[3] is not None
        first = 1 if is_backward else 0
        if len(sizes) < first + 3 or any(len(s) != 4 for s in sizes[first:first + 3]):
            return None
        q, k, v = sizes[first:first + 3]
        length, heads = (1, 2) if attention[1] else (2, 1)
        if q[0] != k[0] or q[3] != k[3] or k[length] != v[length]:
            return None
        scores = q[0] * q[heads] * q[length] * k[length]
        matmuls = 3 * q[3] + 2 * v[3] if is_backward else q[3] + v[3]
        out = q[0] * q[length] * q[heads] * v[3]
        moved = (numel(q) + numel(k) + numel(v) + out) * (2 if is_backward else 1)
        return 2 * scores * matmuls, BYTES.get(type_at(first), 0) * moved, type_at(first)
    if name in ("convolution", "_convolution") and concrete and len(sizes) >= 2:
        x, w = sizes[:2]
        if len(x) < 3 or len(x) != len(w):
            return None
        listed = lambda i: (lambda v: v * (len(x) - 2) if len(v) == 1 else v)(json.loads(concrete[i]))
        stride, padding, dilation, more = listed(3), listed(4), listed(5), listed(7)
        if concrete[6] == "True":
            out = [(x[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w[i + 2] - 1) + more[i] + 1 for i in range(len(x) - 2)]
            return (2 * numel(x) * numel(w[1:]), BYTES.get(type_at(0), 0) * (numel(x) + numel(w) + x[0] * w[1] * numel(out)),
                    type_at(0))
        out = [(x[i + 2] + 2 * padding[i] - dilation[i] * (w[i + 2] - 1) - 1) // stride[i] + 1 for i in range(len(x) - 2)]
        positions = x[0] * w[0] * numel(out)
        return 2 * positions * numel(w[1:]), BYTES.get(type_at(0), 0) * (numel(x) + numel(w) + positions), type_at(0)
    if name == "convolution_backward" and concrete and len(concrete) >= 11 and len(sizes) >= 3:
        g, x, w = sizes[:3]
        if len(x) < 3 or len(x) != len(w) or len(g) != len(x):
            return None
        computed = [word.strip() for word in concrete[10].strip("[]").split(",")]
        gradients = computed[:2].count("True")
        positions = numel(x) if concrete[7] == "True" else numel(g)
        return (2 * gradients * positions * numel(w[1:]),
                BYTES.get(type_at(0), 0) * gradients * (numel(x) + numel(w) + numel(g)), type_at(0))
    return None


def traffic_of(e, family):
    sizes = sizes_of(e)
    if sizes is None or not e.name.startswith("aten::") or "convolution" in e.name or family not in PLAIN_FAMILIES:
        return None
    types, strides = e.args.get("Input type") or [], e.args.get("Input Strides") or []
    operands = []  # sizes, elements in memory, bytes of one
    for i, size in enumerate(sizes):
        item = BYTES.get(types[i], 0) if i < len(types) else 0
        stride = strides[i] if i < len(strides) and len(strides[i]) == len(size) else [1] * len(size)
        if item and size:
            operands.append((size, numel([n for n, step in zip(size, stride) if step != 0]), item))
    if not operands:
        return None
    if e.name == "aten::copy_" and len(operands) == 2:
        return numel(operands[0][0]) * operands[0][2] + operands[1][1] * operands[1][2]
    rank = max(len(size) for size, *_ in operands)
    aligned = [[1] * (rank - len(size)) + size for size, *_ in operands]
    result = [max(axis) for axis in zip(*aligned)]
    if any(n not in (1, m) for size in aligned for n, m in zip(size, result)):  # not elementwise: as large as the largest
        result = max((size for size, *_ in operands), key=numel)
    item = 1 if e.name.removeprefix("aten::") in TRUTHS else max(b for *_, b in operands)
    read = sum(elements * b for _, elements, b in operands)
    return read + (0 if family == "reduction" else item * numel(result))


def utilisation(trace, families):
    used_ops = {}  # number of the op: op, step, work, names of its computing kernels
    flops, moved = collections.Counter(), collections.Counter()
    seen = set()
    unsized = unmoved = compute = activity_ns = 0
    for a in trace.activities:
        if a.cat != "kernel":
            activity_ns += a.dur
            if "bytes" in a.args:
                moved[a.step] += a.args["bytes"]
            else:
                unmoved += a.dur
            continue
        family = families[a.name]
        if family == "collective":
            continue
        activity_ns += a.dur
        computes = family in ("gemm", "convolution", "attention")
        compute += a.dur if computes else 0
        if "flops" in a.args:
            flops[a.step] += a.args["flops"]
            continue
        used = None
        for _, op in zip(range(4), a.op.ancestors() if a.op else ()):
            work = work_of(op) if op.cat == "cpu_op" else None
            if "flops" in op.args and op.cat == "cpu_op":
                work = (op.args["flops"], *(work[1:] if work else (0, "")))
            if work:
                used = used_ops.setdefault(op.number, [op, a.step, work, []])
                break
        if used and computes:
            used[3].append(a.name)
        elif computes:
            unsized += a.dur
        if used or (a.op and a.op.number in seen):
            continue
        traffic = traffic_of(a.op, family) if a.op else None
        if traffic is not None:
            seen.add(a.op.number)
            moved[a.step] += traffic
        else:
            unmoved += a.dur
    # Only ops that enclose no other one that counts. Whether one encloses another is asked of its ancestors.
    enclosing = {around.number for op, *_ in used_ops.values() for around in op.ancestors() if around is not op}
    by_type = collections.Counter()
    for number, (op, step, (count, size, kind), kernels) in used_ops.items():
        if number not in enclosing:
            flops[step] += count
            moved[step] += size
            by_type[step, kind, "tf32" if kind == "float" and any(is_tf32(k) for k in kernels) else ""] += count
    return {"flops": flops, "bytes": moved, "unsized_ns": unsized, "unmoved_ns": unmoved, "by_type": by_type,
            "compute_ns": compute, "activity_ns": activity_ns}


def is_tf32(kernel):
    return "tf32" in kernel or re.search(r"s1688(gemm|fprop|dgrad|wgrad)", kernel) is not None


def check_utilisation(trace, doctor, see):
    if not trace.activities:
        return
    families = {row["name"]: row["family"] for row in doctor.get("kernels", {"tables": {"kernels": []}})["tables"]["kernels"]}
    own = utilisation(trace, families)
    found = doctor["utilisation"]
    facts, steps = found["facts"], found["tables"]["steps"]
    spans = trace.device_span()
    see("utilisation flops", facts["flops"], sum(own["flops"].values()))
    see("utilisation bytes", facts["bytes"], sum(own["bytes"].values()))
    for key in ("unsized_ns", "unmoved_ns"):
        see(f"utilisation {key}", facts[key], own[key])
    see("utilisation unsized_share", facts["unsized_share"], 100 * own["unsized_ns"] / own["compute_ns"] if own["compute_ns"] else 0)
    see("utilisation steps", len(steps), len(trace.steps))
    peaks = {PEAKS.get(trace.names.get(a.device, next(iter(trace.names.values()), ""))) and
             trace.names.get(a.device, next(iter(trace.names.values()), "")) for a in trace.activities}
    peak = PEAKS.get(next(iter(peaks))) if len(peaks) == 1 else None
    for i, step in enumerate(steps):
        see(f"utilisation {step['step']} device_ns", step["device_ns"], spans[i])
        see(f"utilisation {step['step']} flops", step["flops"], own["flops"][i])
        see(f"utilisation {step['step']} bytes", step["bytes"], own["bytes"][i])
        if spans[i]:
            see(f"utilisation {step['step']} flop/s", step["flops_per_second"], own["flops"][i] / spans[i] * 1e9)
            see(f"utilisation {step['step']} bytes/s", step["bytes_per_second"], own["bytes"][i] / spans[i] * 1e9)
        if peak and spans[i] and own["flops"][i]:
            ideal = sum(count / peak[0][tf32 or DTYPES[kind]] / 1000 for (at, kind, tf32), count in own["by_type"].items()
                        if at == i)
            see(f"utilisation {step['step']} mfu", step["mfu"], 100 * ideal / spans[i])
            share = 100 * own["bytes"][i] / spans[i] / peak[1]
            see(f"utilisation {step['step']} bandwidth", step["bandwidth"], share if share <= 100 else None)


# ---- phases

ORDER = ("forward", "backward", "optimizer", "data", "communication", "other")
COMMUNICATION = ("nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:", "c10d::", "_c10d_functional::", "record_param_comms")


def mark_of(e):
    if e.cat not in ("cpu_op", "user_annotation"):
        return None
    if e.name.startswith("autograd::engine::evaluate_function"):
        return "backward"
    if e.name.startswith("Optimizer."):
        return "optimizer"
    if "DataLoader" in e.name:
        return "data"
    if e.name.startswith(COMMUNICATION):
        return "communication"
    return "backward" if e.args.get("Fwd thread id", 0) != 0 and "Sequence number" in e.args else None


def phase_of(e):
    mark = next((m for m in map(mark_of, e.ancestors()) if m), None)
    if mark:
        return mark
    return "forward" if any(a.cat == "cpu_op" and not is_step(a) for a in e.ancestors()) else "other"


def host_phases(trace):
    """By a sweep over the borders of each thread's spans: the innermost that has a phase owns the time between two of them."""
    times = collections.Counter()
    for row in trace.rows.values():
        owners = []
        for e in row:
            mark = mark_of(e)
            is_work = (e.cat == "cpu_op" and not is_step(e)) or e.cat in CALLS
            is_root = is_work and not any(o.cat in CALLS or (o.cat == "cpu_op" and not is_step(o)) or mark_of(o)
                                          for o in e.ancestors() if o is not e)
            if (mark or is_root) and e.dur > 0:
                owners.append((e, mark or ("other" if e.cat in CALLS else "forward")))
        borders = sorted({t for e, _ in owners for t in (e.begin, e.end)})
        begins = collections.defaultdict(list)
        for owner in owners:
            begins[owner[0].begin].append(owner)
        running = []
        for left, right in zip(borders, borders[1:] + [None]):
            running = [o for o in running if o[0].end > left] + begins[left]
            if right is not None and running:
                e, phase = running[-1]
                times[trace.step_at(e.begin), phase] += right - left
    return times


def unite(intervals):
    united = []
    for begin, end in sorted(intervals):
        if united and begin <= united[-1][1]:
            united[-1][1] = max(united[-1][1], end)
        else:
            united.append([begin, end])
    return united


def length(intervals):
    return sum(end - begin for begin, end in unite(intervals))


def overlap(a, b):
    return length(a) + length(b) - length([*a, *b])


def check_phases(trace, doctor, see, families):
    device, activities = collections.Counter(), collections.Counter()
    collectives, others = collections.defaultdict(list), collections.defaultdict(list)
    for a in trace.activities:
        if families.get(a.name) == "collective" and a.cat == "kernel":
            phase = "communication"
            collectives[a.device].append((a.begin, a.end))
        else:
            others[a.device].append((a.begin, a.end))
            phase = phase_of(a.launch) if a.launch else "other"
            if phase == "other" and a.op:
                phase = phase_of(a.op)
        device[a.step, phase] += a.dur
        activities[phase] += 1
    host = host_phases(trace)
    total = lambda counter, phase: sum(v for (_, p), v in counter.items() if p == phase)
    marked = [p for p in ORDER[1:5] if activities[p] or total(host, p)]
    see("phases are there", "phases" in doctor, bool(marked))
    if not marked:
        return
    found = doctor["phases"]
    rows = {row["phase"]: row for row in found["tables"]["phases"]}
    for phase in ORDER:
        row = rows.get(phase, {"device_ns": 0, "host_ns": 0, "activities": 0})
        see(f"phases {phase} device_ns", row["device_ns"], total(device, phase))
        see(f"phases {phase} activities", row["activities"], activities[phase])
        see(f"phases {phase} host_ns", row["host_ns"], total(host, phase))
    ran = sum(length(c) for c in collectives.values())
    hidden = sum(overlap(c, others[d]) for d, c in collectives.items())
    if ran:
        see("phases collective_ns", found["facts"]["collective_ns"], ran)
        see("phases hidden_ns", found["facts"]["hidden_ns"], hidden)
        see("phases exposed_ns", found["facts"]["exposed_ns"], ran - hidden)
    for i, row in enumerate(found["tables"].get("steps", [])):
        for phase in ORDER:
            see(f"phases {row['step']} {phase}_ns", row[f"{phase}_ns"], device[i, phase])
            see(f"phases {row['step']} {phase}_host_ns", row[f"{phase}_host_ns"], host[i, phase])


# ---- modules


def is_module(e):
    if e.cat == "python_function":
        return e.name.startswith("nn.Module: ")
    return e.cat == "user_annotation" and not is_step(e) and not mark_of(e)


def check_modules(trace, doctor, see):
    frames = [e for row in trace.rows.values() for e in row if is_module(e)]
    see("modules are there", "modules" in doctor, bool(frames))
    if not frames:
        return
    own = collections.defaultdict(collections.Counter)
    around_of = lambda e: next((a for a in e.ancestors() if is_module(a)), None)
    for frame in frames:
        inner = own[frame.name]
        inner["calls"] += 1
        inner["host_self_ns"] += frame.dur
        outer = around_of(frame.parent) if frame.parent else None
        if outer:
            own[outer.name]["host_self_ns"] -= min(frame.end, outer.end) - frame.begin
        else:
            own[""]["host_ns"] += frame.dur
    # Times within a frame, with all that is inside: each self time counts once for each name around it.
    selves = collections.Counter()
    for frame in frames:
        selves[frame.number] += frame.dur
        outer = around_of(frame.parent) if frame.parent else None
        if outer:
            selves[outer.number] -= min(frame.end, outer.end) - frame.begin
    for frame in frames:
        for name in {a.name for a in frame.ancestors() if is_module(a)}:
            own[name]["host_ns"] += selves[frame.number]
    for a in trace.activities:
        if a.launch is None:
            continue
        frame, kind = around_of(a.launch), "device"
        if frame is None:
            op = trace.op_of(a.launch)
            forward = next((trace.forward[e.number] for e in op.ancestors() if e.number in trace.forward), None) if op else None
            frame, kind = around_of(forward) if forward else None, "backward"
        if frame is None:
            continue
        own[frame.name][f"{kind}_self_ns"] += a.dur
        own[frame.name]["kernels_self"] += a.cat == "kernel"
        for name in {f.name for f in frame.ancestors() if is_module(f)}:
            own[name][f"{kind}_ns"] += a.dur
            own[name]["kernels"] += a.cat == "kernel"
        own[""][f"{kind}_ns"] += a.dur
    facts = doctor["modules"]["facts"]
    for key in ("device_ns", "backward_ns", "host_ns"):
        see(f"modules {key}", facts[key], own[""][key])
    del own[""]
    rows = {(row["module"], row["kind"]): row for row in doctor["modules"]["tables"]["modules"]}
    see("modules", len(rows), len(own))
    for name, sums in own.items():
        is_frame = name.startswith("nn.Module: ")
        row = rows[name.removeprefix("nn.Module: "), "module" if is_frame else "annotation"]
        for key in ("calls", "device_ns", "device_self_ns", "backward_ns", "backward_self_ns", "kernels", "kernels_self", "host_ns",
                    "host_self_ns"):
            see(f"modules {name} {key}", row[key], sums[key])


# ---- memory


def check_memory(trace, doctor, see):
    see("memory is there", "memory" in doctor, bool(trace.memory))
    if not trace.memory:
        return
    found = doctor["memory"]
    facts = found["facts"]
    events = sorted(trace.memory, key=lambda e: ns(e["ts"]))
    devices = collections.defaultdict(list)
    for e in events:
        devices[e["args"]["Device Type"], e["args"]["Device Id"]].append(e)

    def totals(of):
        if "Total Allocated" in of[0]["args"]:
            return [e["args"]["Total Allocated"] for e in of]
        sums, sum_ = [], 0
        for e in of:
            sum_ += e["args"]["Bytes"]
            sums.append(sum_)
        return sums
    chosen = max(devices, key=lambda d: (d[0] != 0, max(totals(devices[d]))))
    of = devices[chosen]
    curve = totals(of)
    peak = max(curve)
    at = curve.index(peak)
    origin = trace.steps[0][0] if trace.steps else ns(of[0]["ts"])
    reserved = of[at]["args"].get("Total Reserved")
    see("memory peak_bytes", facts["peak_bytes"], peak)
    see("memory peak_at_ns", facts["peak_at_ns"], ns(of[at]["ts"]) - origin)
    see("memory reserved_bytes", facts["reserved_bytes"], reserved)
    see("memory unused_bytes", facts["unused_bytes"], None if reserved is None else reserved - peak)
    see("memory allocations", facts["allocations"], sum(e["args"]["Bytes"] > 0 for e in of))
    see("memory frees", facts["frees"], sum(e["args"]["Bytes"] <= 0 for e in of))
    points = {(ns(e["ts"]) - origin, total, e["args"].get("Total Reserved")) for e, total in zip(of, curve)}
    drawn = [(p["at_ns"], p["allocated_bytes"], p["reserved_bytes"]) for p in found["tables"]["curve"]]
    see("memory curve points that are in the trace", sum(p in points for p in drawn), len(drawn))
    see("memory peak of the curve", max(p[1] for p in drawn), peak)
    see("memory curve is in order", drawn, sorted(drawn, key=lambda p: p[0]))
    if "Addr" not in of[0]["args"]:
        see("memory live tables", "live" in found["tables"], False)
        return
    # A block is live at the peak if the last event of its address until then is an allocation.
    last = {e["args"]["Addr"]: e for e in of[:at + 1]}
    groups = collections.Counter()
    blocks = collections.Counter()
    begins = {row: [e.begin for e in spans] for row, spans in trace.rows.items()}
    kinds = dict(zip(ORDER, ("activations", "gradients", "optimizer state", "input", "communication", "other")))
    for e in last.values():
        if e["args"]["Bytes"] <= 0:
            continue
        time, row = ns(e["ts"]), (str(e["pid"]), str(e["tid"]))
        spans = trace.rows.get(row, [])
        place = bisect.bisect_right(begins.get(row, []), time)
        span = next((s for s in spans[place - 1].ancestors() if s.end > time), None) if place else None
        ops = [s for s in span.ancestors() if s.cat == "cpu_op"] if span else []
        named = [s for s in ops if not re.match(r"aten::(empty|resize|new_empty(_strided)?$)", s.name)]
        op = named[0] if named and not is_step(named[0]) else ops[0] if ops else None
        key = (kinds[phase_of(span)] if span else "other", op.name if op else None)
        groups[key] += e["args"]["Bytes"]
        blocks[key] += 1
    rows = {(r["category"], r["op"]): r for r in found["tables"].get("live", [])}
    see("memory live groups", set(rows), set(groups))
    for key, size in groups.items():
        see(f"memory live {key} bytes", rows.get(key, {}).get("bytes"), size)
        see(f"memory live {key} count", rows.get(key, {}).get("count"), blocks[key])
    categories = collections.Counter()
    for (category, _), size in groups.items():
        categories[category] += size
    before = peak - sum(groups.values())
    if before > 0 and "Total Allocated" in of[0]["args"]:
        categories["allocated before the trace: weights and state"] = before
    see("memory categories", {r["category"]: r["bytes"] for r in found["tables"]["categories"]}, dict(categories))


# ---- sends and receives


def check_pipeline(trace, doctor, see, families):
    element = {"Float": 4, "BFloat16": 2, "Half": 2, "Long": 8, "Int": 4, "Byte": 1}
    transfers, others = collections.defaultdict(list), collections.defaultdict(list)
    peers = collections.defaultdict(lambda: [0, 0, 0])
    for a in trace.activities:
        kind = None
        if a.cat == "kernel" and families.get(a.name) == "collective":
            chain = [a, *(list((a.launch or a.op).ancestors())[:8] if a.launch or a.op else [])]
            for e in chain:
                name = e.args.get("Collective name")
                text = re.match(r"(?:nccl:|gloo:|c10d::)(i?send|i?recv|coalesced)(?: \d+(?:->|<-)(\d+))?", e.name)
                if name is not None or text or e.name.startswith("nccl:"):
                    word = (name or (text[1] if text else "")).lstrip("i")
                    kind = {"send": "send", "recv": "receive", "coalesced": "group"}.get(word)
                    break
            if kind:
                rank = e.args.get("Dst Rank" if kind == "send" else "Src Rank")
                if rank is None:
                    arrows = (re.search(r"(?:->|<-)(\d+)", c.name) for c in chain)
                    rank = next((int(m[1]) for m in arrows if m), None)
                peer = peers[kind, rank]
                peer[0] += 1
                peer[1] += e.args.get("In msg nelems", 0) * element.get(e.args.get("dtype"), 0)
                peer[2] += a.dur
        (transfers if kind else others)[a.device].append((a.begin, a.end))
    see("pipeline is there", "pipeline" in doctor, bool(peers))
    if not peers:
        return
    facts = doctor["pipeline"]["facts"]
    rows = {(r["direction"], r["peer"]): [r["count"], r["bytes"] or 0, r["time_ns"]] for r in doctor["pipeline"]["tables"]["peers"]}
    see("pipeline peers", rows, dict(peers))
    bubbles = bubble_ns = exposed = 0
    for device, of in transfers.items():
        busy = unite(others[device])
        for (_, begin), (end, _) in zip(busy, busy[1:]):
            alone = overlap([(begin, end)], of)
            bubbles += alone > 0
            bubble_ns += end - begin if alone else 0
            exposed += alone
    for key, value in (("bubbles", bubbles), ("bubble_ns", bubble_ns), ("exposed_ns", exposed)):
        see(f"pipeline {key}", facts[key], value)


# ---- traces that are made here


def made_trace():
    """A step of a pipeline stage with modules, a convolution, attention forward and backward, memory, sends and receives."""
    events, clock = [], {"correlation": 0}

    def span(cat, name, begin, duration, tid=1, pid=1, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": begin, "dur": duration, "args": args})

    def launch(begin, kernel, at, duration, tid=1, stream=7, **args):
        clock["correlation"] += 1
        span("cuda_runtime", "cudaLaunchKernel", begin, 2, tid, correlation=clock["correlation"])
        span("kernel", kernel, at, duration, stream, 0, device=0, stream=stream, correlation=clock["correlation"], **args)

    def memory(at, address, size, allocated, tid=1):
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": tid, "ts": at,
                       "args": {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size, "Total Allocated": allocated,
                                "Total Reserved": 10_000_000}})
    half = ["c10::BFloat16"]
    for step in range(2):
        t = 1000 * step
        span("user_annotation", f"ProfilerStep#{step}", t, 990.5)
        span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", t + 1, 20)
        span("cpu_op", "c10d::recv_", t + 30, 20)
        span("user_annotation", "nccl:recv 1<-0", t + 32, 15)
        span("cpu_op", "record_param_comms", t + 33, 12,
             **{"Collective name": "recv", "In msg nelems": 4096, "dtype": "BFloat16", "Src Rank": 0, "Dst Rank": 1})
        launch(t + 35, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", t + 40, 60.25, stream=9)
        span("python_function", "nn.Module: Stage_0", t + 60, 200)
        span("python_function", "nn.Module: Conv2d_0", t + 61, 60)
        span("cpu_op", "aten::conv2d", t + 62, 50, **{"Sequence number": 10 + step, "Fwd thread id": 0})
        dims = {"Input Dims": [[2, 8, 32, 32], [16, 4, 3, 3], [], [], [], [], [], [], []], "Input type": half * 2,
                "Concrete Inputs": ["", "", "", "[2, 1]", "[1]", "[1, 2]", "False", "[0, 0]", "2"]}
        span("cpu_op", "aten::convolution", t + 63, 45, **dims)
        span("cpu_op", "aten::_convolution", t + 64, 40, **dims)
        span("cpu_op", "aten::cudnn_convolution", t + 65, 30)
        memory(t + 66, 4096, 1024, 501024)
        launch(t + 70, "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64", t + 101, 30.125)
        span("python_function", "nn.Module: Attention_0", t + 130, 100)
        qkv = {"Input Dims": [[2, 4, 128, 64], [2, 4, 96, 64], [2, 4, 96, 32]], "Input type": half * 3}
        span("cpu_op", "aten::scaled_dot_product_attention", t + 131, 90, **qkv, **{"Sequence number": 20 + step, "Fwd thread id": 0})
        span("cpu_op", "aten::_scaled_dot_product_flash_attention", t + 132, 80, **qkv)
        memory(t + 135, 8192, 2048, 503072)
        launch(t + 140, "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", t + 160, 25)
        launch(t + 150, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
               "std::array<char*, 3ul> >(int)", t + 190, 5)
        span("user_annotation", "nccl:send 1->2", t + 280, 15)
        span("cpu_op", "record_param_comms", t + 281, 12, **{"Collective name": "send", "In msg nelems": 100, "dtype": "Float"})
        launch(t + 283, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", t + 300, 10, stream=9)
        span("cpu_op", "autograd::engine::evaluate_function: FlashBackward0", t + 400, 50, 2,
             **{"Sequence number": 20 + step, "Fwd thread id": 1})
        span("cpu_op", "aten::_scaled_dot_product_flash_attention_backward", t + 402, 40, 2,
             **{"Input Dims": [[2, 4, 128, 32], *qkv["Input Dims"]], "Input type": half * 4})
        memory(t + 403, 16384, 512, 503584, 2)
        launch(t + 405, "void flash_bwd_kernel<Flash_bwd_kernel_traits<64, 128, 128, 4>>(Flash_bwd_params)", t + 410, 50, 2)
        span("cpu_op", "aten::mm", t + 470, 9, **{"flops": 12345, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]})
        launch(t + 472, "ampere_sgemm_32x32_sliced1x4_nn", t + 480, 3)
        memory(t + 475, 8192, -2048, 501536)
        span("user_annotation", "Optimizer.step#SGD.step", t + 500, 40)
        span("cpu_op", "aten::add_", t + 501, 20, **{"Input Dims": [[64, 64], [64, 64], []], "Input type": half * 2 + ["Scalar"]})
        memory(t + 502, 32768 + step, 100, 501636)
        launch(t + 505, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
               "std::array<char*, 3ul> >(int)", t + 520, 5)
        memory(t + 600, 4096, -1024, 500612)
        memory(t + 601, 16384, -512, 500100)
    return {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def check(doctor, path):
    ran = subprocess.run([doctor, path, "--json"], capture_output=True, text=True)
    if ran.returncode != 0:
        return 0, [f"the doctor ended with code {ran.returncode}: {ran.stderr.strip()}"]
    found = json.loads(ran.stdout)["findings"]
    trace, problems, count = Trace(path), [], 0

    def see(what, doctors, own):
        nonlocal count
        count += 1
        if not same(doctors, own):
            problems.append(f"{what}: the doctor says {doctors}, the trace {own}")
    families = {row["name"]: row["family"] for row in found.get("kernels", {"tables": {"kernels": []}})["tables"]["kernels"]}
    check_utilisation(trace, found, see)
    check_phases(trace, found, see, families)
    check_modules(trace, found, see)
    check_memory(trace, found, see)
    check_pipeline(trace, found, see, families)
    return count, problems


def main():
    doctor, *paths = sys.argv[1:]
    folder = os.environ.get("PELLUCID_TRACES")
    failed = compared = 0
    with tempfile.TemporaryDirectory() as temporary:
        if not paths:
            made = Path(temporary) / "made.json"
            made.write_text(json.dumps(made_trace()))
            paths = [made, *(sorted(Path(folder).rglob("*.json.gz")) if folder and Path(folder).is_dir() else [])]
        for path in paths:
            count, problems = check(doctor, path)
            compared += count
            failed += bool(problems)
            for problem in problems[:20]:
                print(f"{Path(path).name}: {problem}")
            if len(problems) > 20:
                print(f"{Path(path).name}: and {len(problems) - 20} more")
    print(f"independent_figures: {compared} figures of {len(paths)} traces, {failed} traces with a difference")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
