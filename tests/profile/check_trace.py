#!/usr/bin/env python3
"""Holds a trace of the profiler against Kineto's schema: check_trace.py [--self-test] TRACE.json

Every event has the keys, types, categories and arguments of its kind and no others; ids link up; spans nest. With
--self-test it first proves, on copies of the trace with one fault each, that it can fail.
"""
import copy
import json
import re
import sys
from collections import Counter, defaultdict

TIME = re.compile(r"[0-9]+\.[0-9]{3}")


class Fraction(str):
    """The text of a number with a point."""


def load(text):
    def members(pairs):
        keys = Counter(key for key, _ in pairs)
        for key, count in keys.items():
            if count > 1:
                raise ValueError(f"{key} stands {count} times in one object")
        return dict(pairs)

    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_float=Fraction, parse_constant=refuse, object_pairs_hook=members)


def is_count(value):
    return type(value) is int and value >= 0


def is_integer(value):
    return type(value) is int


def is_text(value):
    return type(value) is str


def is_time(value):
    return isinstance(value, Fraction) and TIME.fullmatch(value) is not None


def is_list_of(kind):
    return lambda value: isinstance(value, list) and all(kind(each) for each in value)


def is_place(value):
    return is_text(value) and re.fullmatch(r".+:[0-9]+", value) is not None


def is_refusals(value):
    return isinstance(value, dict) and len(value) > 0 and all(is_text(v) and v for v in value.values())


def exactly(wanted):
    return lambda value: type(value) is type(wanted) and value == wanted


def shapes(what):
    sizes = is_list_of(is_list_of(is_integer))
    return {f"{what} Dims": sizes, f"{what} Strides": sizes, f"{what} type": is_list_of(is_text)}


LAUNCHES, WAITS = ["cudaLaunchKernel", "cudaMemcpyAsync"], ["cudaStreamSynchronize", "cudaDeviceSynchronize"]
ROW = {"name": is_text, "pid": is_count, "tid": is_count, "ts": is_time}
SPAN = {**ROW, "dur": is_time}
FLOW = {**ROW, "id": is_count}

# (phase, category): keys, arguments that are there, arguments that may be. What is not Kineto's own follows its
# comment; docs/profiler.md has the list.
KINDS = {
    ("X", "cpu_op"): (
        SPAN, {"External id": is_count},
        {"Sequence number": is_count, "Fwd thread id": is_count, **shapes("Input"),
         # ours
         "Call site": is_place, "Sync": exactly(1)}),
    ("X", "user_annotation"): (
        SPAN, {"External id": is_count},
        {  # ours
            "Call site": is_place}),
    ("X", "piece"): (  # ours: of a parallel loop
        SPAN, {"caller": is_count, "first": is_count, "end": is_count}, {"Call site": is_place}),
    ("X", "cuda_runtime"): (
        {**SPAN, "name": lambda value: value in LAUNCHES + WAITS}, {},
        {"External id": is_count, "correlation": is_count,
         # ours
         "Queued": is_count, "Reason": is_text, "Call site": is_place, "refused": is_refusals}),
    ("X", "gpu_memcpy"): (
        {**SPAN, "name": is_text},
        {"External id": is_count, "correlation": is_count, "device": is_count, "context": is_count, "stream": is_count,
         "bytes": is_count, "memory bandwidth (GB/s)": is_time},
        {  # ours
            "Call site": is_place}),
    ("X", "kernel"): (
        SPAN,
        {"External id": is_count, "correlation": is_count, "device": is_count, "context": is_count, "stream": is_count,
         # ours
         "bytes read": is_count, "bytes written": is_count, "flops": is_count},
        {  # ours
            **shapes("Input"), **shapes("Output"), "Call site": is_place, "refused": is_refusals}),
    ("i", "cpu_instant_event"): (
        {**ROW, "name": exactly("[memory]"), "s": exactly("t")},
        {"Bytes": is_integer, "Device Type": exactly(0), "Device Id": exactly(-1), "Total Allocated": is_count}, {}),
    ("s", "ac2g"): ({**FLOW, "name": exactly("ac2g")}, None, {}),
    ("f", "ac2g"): ({**FLOW, "name": exactly("ac2g"), "bp": exactly("e")}, None, {}),
    ("s", "fwdbwd"): ({**FLOW, "name": exactly("fwdbwd")}, None, {}),
    ("f", "fwdbwd"): ({**FLOW, "name": exactly("fwdbwd"), "bp": exactly("e")}, None, {}),
    ("M", "process_name"): (ROW, {"name": is_text}, {}),
    ("M", "process_labels"): (ROW, {"labels": is_text}, {}),
    ("M", "thread_name"): (ROW, {"name": is_text}, {}),
}
DOCUMENT = {
    "schemaVersion": exactly(1), "deviceProperties": exactly([]), "record_shapes": exactly(1),
    "pellucid_dropped": is_count, "displayTimeUnit": exactly("ms"), "baseTimeNanoseconds": is_count,
    "traceEvents": is_list_of(lambda e: isinstance(e, dict)), "traceName": is_text,
}
TOGETHER = [["Sequence number", "Fwd thread id"], list(shapes("Input")), list(shapes("Output"))]


def check_members(what, there, wanted, optional, problems):
    for key in wanted.keys() - there.keys():
        problems.append(f"{what} has no {key}")
    for key, value in there.items():
        rule = wanted.get(key) or optional.get(key)
        if rule is None:
            problems.append(f"{what} has {key}, which the schema does not know")
        elif not rule(value):
            problems.append(f"{what} has {key} = {value!r}")


def check_schema(trace, problems):
    check_members("the document", trace, DOCUMENT, {}, problems)
    for number, event in enumerate(trace.get("traceEvents", [])):
        phase = event.get("ph")
        category = event.get("name") if phase == "M" else event.get("cat")
        what = f"event {number}, {phase} {category}"
        if (phase, category) not in KINDS:
            problems.append(f"{what}: there is no such kind")
            continue
        keys, args, more = KINDS[phase, category]
        keys = {"ph": is_text, **({} if phase == "M" else {"cat": is_text}), **keys}
        if args is not None:
            keys["args"] = lambda value: isinstance(value, dict)
        check_members(what, event, keys, {}, problems)
        if args is None or not isinstance(event.get("args"), dict):
            continue
        if category == "cuda_runtime":  # what a call has depends on what it does
            own = ["External id", "correlation"] if event.get("name") in LAUNCHES else ["Reason", "Queued"]
            args, more = {key: more[key] for key in own}, {key: rule for key, rule in more.items() if key not in own}
        check_members(f"{what}: args", event["args"], args, more, problems)
        for group in TOGETHER:
            there = [key for key in group if key in event["args"]]
            if there and there != group:
                problems.append(f"{what}: of {group} only {there} are there")
        for kind in ("Input", "Output"):
            dims, strides, types = (event["args"].get(f"{kind} {part}", []) for part in ("Dims", "Strides", "type"))
            if not len(dims) == len(strides) == len(types) or [len(d) for d in dims] != [len(s) for s in strides]:
                problems.append(f"{what}: {kind} Dims, Strides and type are of different lengths")


def nanoseconds(time):
    whole, fraction = time.split(".")
    return int(whole) * 1000 + int(fraction)


class Span:
    def __init__(self, number, event):
        self.number, self.event, self.args = number, event, event["args"]
        self.category, self.name = event["cat"], event["name"]
        self.row = (event["pid"], event["tid"])
        self.begin = nanoseconds(event["ts"])
        self.end = self.begin + nanoseconds(event["dur"])
        self.at = (*self.row, self.begin)
        self.outer = None

    def __str__(self):
        return f"event {self.number}, {self.name}"


def nest(spans, problems):
    """Finds for each span the one around it."""
    rows = defaultdict(list)
    for span in spans:
        rows[span.row].append(span)
    for row in rows.values():
        # What is inside was written before what is around it.
        row.sort(key=lambda s: (s.begin, -s.end, -s.number))
        stack = []
        for span in row:
            while stack and stack[-1].end <= span.begin and not stack[-1].end == span.begin == span.end:
                stack.pop()
            if stack and span.end > stack[-1].end:
                problems.append(f"{span} ends after {stack[-1]}, in which it begins")
            span.outer = stack[-1] if stack else None
            if span.category in ("kernel", "gpu_memcpy") and span.outer:
                problems.append(f"{span} runs while {span.outer} does, on one stream")
            stack.append(span)


def by_key(what, events, key, problems):
    found = {}
    for event in events:
        if key(event) in found:
            problems.append(f"{what} {key(event)} is there twice")
        found[key(event)] = event
    return found


def check_links(trace, problems):
    events = trace["traceEvents"]
    spans = [Span(number, event) for number, event in enumerate(events) if event["ph"] == "X"]
    nest(spans, problems)
    of = defaultdict(list)
    for span in spans:
        of[span.category].append(span)
    ops = by_key("External id", of["cpu_op"] + of["user_annotation"], lambda s: s.args["External id"], problems)
    launches = by_key("launch", [s for s in of["cuda_runtime"] if s.name in LAUNCHES], lambda s: s.args["correlation"],
                      problems)
    kernels = by_key("kernel", of["kernel"] + of["gpu_memcpy"], lambda s: s.args["correlation"], problems)
    for correlation in launches.keys() ^ kernels.keys():
        problems.append(f"correlation {correlation} has {'no kernel' if correlation in launches else 'no launch'}")
    for correlation in launches.keys() & kernels.keys():
        launch, kernel = launches[correlation], kernels[correlation]
        if (launch.name == "cudaMemcpyAsync") != (kernel.category == "gpu_memcpy"):
            problems.append(f"{kernel} was launched by {launch}")
        if launch.args["External id"] != kernel.args["External id"]:
            problems.append(f"{kernel} and its launch have different External ids")
        if kernel.begin < launch.begin:
            problems.append(f"{kernel} begins before its launch")
        if (kernel.args["device"], kernel.args["stream"]) != kernel.row:
            problems.append(f"{kernel} is not on the row of its stream")
        op = launch.outer
        while op is not None and op.category != "cpu_op":
            op = op.outer
        if op is None or ops.get(launch.args["External id"]) is not op:
            problems.append(f"{launch} of {kernel}: its External id is not that of {op}, the innermost op around it")

    flows = {}
    for category, first, second in (("ac2g", "s", "f"), ("fwdbwd", "s", "f")):
        for phase in (first, second):
            flows[category, phase] = by_key(
                f"{category} {phase}", [e for e in events if e["ph"] == phase and e["cat"] == category],
                lambda e: e["id"], problems)
        for id in flows[category, "s"].keys() ^ flows[category, "f"].keys():
            problems.append(f"{category} {id} has one end only")

    def at(event):
        return (event["pid"], event["tid"], nanoseconds(event["ts"]))

    for phase, ends in (("s", launches), ("f", kernels)):
        for id in flows["ac2g", phase].keys() ^ ends.keys():
            problems.append(f"ac2g {phase} {id}: no flow, or nothing that it belongs to")
        for id in flows["ac2g", phase].keys() & ends.keys():
            if at(flows["ac2g", phase][id]) != ends[id].at:
                problems.append(f"ac2g {phase} {id} is not where {ends[id]} begins")

    numbered = defaultdict(list)
    for op in of["cpu_op"]:
        if "Sequence number" in op.args:
            numbered[op.at, op.name.startswith("backward: ")].append(op)
    ends = 0
    for id, start in flows["fwdbwd", "s"].items():
        end = flows["fwdbwd", "f"].get(id, start)
        pairs = [(forward, backward) for forward in numbered[at(start), False] for backward in numbered[at(end), True]
                 if forward.args["Sequence number"] == backward.args["Sequence number"]
                 and backward.name == "backward: " + forward.name and forward.end <= backward.begin]
        ends += 2
        if len(pairs) != 1:
            problems.append(f"fwdbwd {id} does not join an op with its gradient")
    if ends != sum(len(found) for found in numbered.values()):
        problems.append("fwdbwd flows are not as many as the ops with a Sequence number")

    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for row in {(e["pid"], e["tid"]) for e in events if e["ph"] != "M"} - named:
        problems.append(f"row {row} has no thread_name")


def check(trace):
    problems = []
    check_schema(trace, problems)
    if not problems:  # what follows takes the schema for granted
        check_links(trace, problems)
    return problems


def first(trace, phase, category, having=None, place=0):
    found = [e for e in trace["traceEvents"] if e["ph"] == phase and e.get("cat") == category
             and (having is None or having in e.get("args", {}))]
    return found[place]


def rename_launch(trace, activity, name):
    for event in trace["traceEvents"]:
        if event.get("cat") == "cuda_runtime" and event["args"].get("correlation") == activity["args"]["correlation"]:
            event["name"] = name


# What is done to a good trace, and a part of what must be said about it.
def faults():
    def fault(expected, change):
        return expected, change

    def with_event(phase, category, change, having=None, place=0):
        return lambda trace: change(first(trace, phase, category, having, place))

    def remove(phase, category):
        return lambda trace: trace["traceEvents"].remove(first(trace, phase, category))

    def repeat(phase, category):
        return lambda trace: trace["traceEvents"].append(first(trace, phase, category))

    def arg(name, value):
        return lambda event: event["args"].update({name: value})

    kernel, launch, op, note = ("X", "kernel"), ("X", "cuda_runtime"), ("X", "cpu_op"), ("X", "user_annotation")
    copy_ = ("X", "gpu_memcpy")
    return [
        fault("has no traceName", lambda t: t.pop("traceName")),
        fault("schemaVersion", lambda t: t.update(schemaVersion=2)),
        fault("which the schema does not know", lambda t: t.update(extra=1)),
        fault("there is no such kind", with_event(*kernel, lambda e: e.update(cat="Kernel"))),
        fault("there is no such kind", with_event(*kernel, lambda e: e.update(ph="B"))),
        fault("has no dur", with_event(*op, lambda e: e.pop("dur"))),
        fault("has tid", with_event(*op, lambda e: e.update(tid="7"))),
        fault("has ts", with_event(*op, lambda e: e.update(ts=Fraction("1.5")))),
        fault("has ts", with_event(*op, lambda e: e.update(ts=15))),
        fault("has dur", with_event(*op, lambda e: e.update(dur=Fraction("-1.500")))),
        fault("bytes, which the schema", with_event(*kernel, arg("bytes", 4))),
        fault("has no correlation", with_event(*launch, lambda e: e["args"].pop("correlation"))),
        fault("has flops", with_event(*kernel, arg("flops", "12"))),
        fault("has Call site", with_event(*op, arg("Call site", "nowhere"), "Call site")),
        fault("has refused", with_event(*kernel, arg("refused", {"a": 1}), "refused")),
        fault("are there", with_event(*op, lambda e: e["args"].pop("Input Strides"), "Input Strides")),
        fault("different lengths", with_event(*op, lambda e: e["args"]["Input Dims"].append([1]), "Input Dims")),
        fault("has bp", with_event("f", "ac2g", lambda e: e.update(bp="b"))),
        fault("has no bp", with_event("f", "fwdbwd", lambda e: e.pop("bp"))),
        fault("has s", with_event("i", "cpu_instant_event", lambda e: e.update(s="g"))),
        fault("has no launch", remove(*launch)),
        fault("has no kernel", remove(*kernel)),
        fault("is there twice", repeat(*launch)),
        fault("is there twice", repeat(*kernel)),
        fault("is there twice", repeat("s", "ac2g")),
        fault("is there twice", repeat(*op)),
        fault("is there twice", repeat(*note)),
        fault("one end only", remove("s", "ac2g")),
        fault("one end only", remove("f", "ac2g")),
        fault("one end only", remove("f", "fwdbwd")),
        fault("one end only", remove("s", "fwdbwd")),
        fault("is not where", with_event("s", "ac2g", lambda e: e.update(ts=Fraction("0.001")))),
        fault("is not where", with_event("f", "ac2g", lambda e: e.update(tid=99), place=1)),
        fault("no thread_name", with_event("f", "ac2g", lambda e: e.update(tid=99))),
        fault("does not join", with_event(*op, arg("Sequence number", 999999), "Sequence number")),
        fault("does not join", with_event(*op, lambda e: e.update(name="other"), "Sequence number")),
        fault("different External ids", with_event(*kernel, arg("External id", 1 << 60))),
        fault("innermost op", with_event(*op, arg("External id", 1 << 60))),
        fault("not on the row of its stream", with_event(*kernel, arg("stream", 99))),
        fault("ends after", with_event(*op, lambda e: e.update(dur=Fraction("999999.000")))),
        fault("on one stream", with_event(*kernel, lambda e: e.update(dur=Fraction("999999.000")))),
        fault("has no Reason", with_event(*launch, lambda e: e["args"].pop("Reason"), "Reason")),
        fault("has Queued", with_event(*launch, arg("Queued", -1), "Queued")),
        fault("has name", with_event(*launch, lambda e: e.update(name="cudaWait"), "Reason")),
        fault("has no bytes", with_event(*copy_, lambda e: e["args"].pop("bytes"))),
        fault("has no launch", lambda t: first(t, *launch, "Queued")["args"].update(correlation=1 << 60)),
        fault("was launched by", lambda t: rename_launch(t, first(t, *copy_), "cudaLaunchKernel")),
        fault("begins before its launch", with_event(*kernel, lambda e: e.update(ts=Fraction("0.001")))),
    ]


TEXT_FAULTS = [  # and what is done to the text
    ("Expecting", lambda text: text.replace('"dur": ', '"dur" ', 1)),
    ("Expecting", lambda text: text[:text.rindex("]")]),
    ("Expecting", lambda text: text.replace("},\n{", "}\n{", 1)),
    ("stands 2 times", lambda text: text.replace('"ph": "X"', '"ph": "X", "ph": "X"', 1)),
    ("has ts", lambda text: re.sub(r'("ts": [0-9]+\.[0-9]{3})([,}])', r"\g<1>5\2", text, count=1)),
    ("has ts", lambda text: re.sub(r'"ts": ([0-9]+\.[0-9]{3})', r'"ts": "\1"', text, count=1)),
    ("is not JSON", lambda text: re.sub(r'"flops": [0-9]+', '"flops": NaN', text, count=1)),
    ("Invalid control character", lambda text: text.replace('"name": "', '"name": "\n', 1)),
]


def problems_of(text):
    try:
        return check(load(text))
    except ValueError as error:
        return [str(error)]


def self_test(text):
    trace = load(text)
    for number, (expected, change) in enumerate(faults()):
        broken = copy.deepcopy(trace)
        change(broken)
        found = check(broken)
        if not any(expected in problem for problem in found):
            sys.exit(f"self-test: fault {number} is not refused with {expected!r}: {found[:3]}")
    for number, (expected, change) in enumerate(TEXT_FAULTS):
        found = problems_of(change(text))
        if not any(expected in problem for problem in found):
            sys.exit(f"self-test: fault {number} of the text is not refused with {expected!r}: {found[:3]}")
    return len(faults()) + len(TEXT_FAULTS)


def main(arguments):
    with open(arguments[-1], encoding="utf-8") as file:
        text = file.read()
    found = problems_of(text)
    if found:
        print("\n".join(found[:20]))
        sys.exit(f"{arguments[-1]}: {len(found)} problems")
    events = load(text)["traceEvents"]
    there = {(e["ph"], e["name"] if e["ph"] == "M" else e["cat"]) for e in events}
    if there != KINDS.keys():
        sys.exit(f"the trace lacks events to check: {KINDS.keys() - there}")
    refused = self_test(text) if "--self-test" in arguments else 0
    print(f"{len(events)} events of {len(there)} kinds are as they should be; {refused} faults were refused")


if __name__ == "__main__":
    main(sys.argv[1:])
