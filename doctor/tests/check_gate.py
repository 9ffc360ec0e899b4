#!/usr/bin/env python3
"""Checks the gate of a CI: `pellucid-doctor TRACE --before SUMMARY --expect "more.step.kernels == 0"`.

    check_gate.py PELLUCID_DOCTOR WRITE_MADE_RANKS [--large]

A summary takes at most 50 kB and says what its trace says. Traces of one program with other times raise no alarm, and one kernel more in a
step does. --large measures a trace of 100 MB: the goal of a second is for a machine on which Python's json reads the file in two, so the gate
may take half of the CPU time that Python's json takes in the same run. PELLUCID_SEED sets the seed of damaged summaries.
"""
import copy
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
EXPECT = "more.step.kernels == 0; more.step.syncs == 0; more.step.memcpy == 0"
MAX_SUMMARY_BYTES = 50_000
MAX_CPU_TO_JSON = 0.5
SEEDS = 100

problems = []


def expect(holds, *what):
    if not holds:
        problems.append(" ".join(str(word) for word in what)[:2000])


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def summarize(doctor, trace, out):
    code, _, err = run(doctor, trace, "--summary", out)
    expect(code == 0, f"{trace}: --summary: {err}")
    size = out.stat().st_size
    expect(size <= MAX_SUMMARY_BYTES, f"{trace}: its summary takes {size} bytes")
    return size


def gate(doctor, trace, before):
    return run(doctor, trace, "--before", before, "--expect", EXPECT)


def with_one_kernel_more(trace, out):
    """One cast more in each step, after its first op."""
    document = json.loads(trace.read_text(encoding="utf-8"))
    events, seen, added = document["traceEvents"], False, 0
    for event in list(events):
        if event["name"].startswith("ProfilerStep"):
            seen = False
        if event["cat"] == "kernel" and "relu" in event["name"] and not seen:
            seen, added = True, added + 1
            number = 10_000_000 + added
            host = next(e for e in events if e["cat"] == "cpu_op" and e["args"].get("External id") == event["args"]["External id"])
            begin = host["ts"] + host["dur"] + 0.1
            op, call, kernel = copy.deepcopy(host), copy.deepcopy(host), copy.deepcopy(event)
            op.update(name="aten::_to_copy", ts=begin, dur=0.3, args={"External id": number})
            call.update(cat="cuda_runtime", name="cudaLaunchKernel", ts=begin + 0.1, dur=0.1,
                        args={"External id": number, "correlation": number})
            kernel.update(name="void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>(int)",
                          ts=event["ts"] + event["dur"] + 0.1, dur=0.2)
            kernel["args"].update({"External id": number, "correlation": number})
            events += [op, call, kernel]
    out.write_text(json.dumps(document), encoding="utf-8")
    return added


def differences(doctor, trace, before):
    code, out, err = run(doctor, trace, "--before", before, "--json")
    expect(code == 0, f"{trace} --before {before}: {err}")
    findings = json.loads(out)["findings"]
    expect("diff_kernels" in findings, f"{trace} --before {before}: there is no difference")
    return {key: finding for key, finding in findings.items() if key.startswith("diff")}


def check_gate(doctor, make, folder):
    code, _, err = run(make, "json", folder / "traces", SEEDS + 4, 2_000)
    expect(code == 0, f"write_made_ranks: {err}")
    traces = [folder / f"traces/rank{i}.json" for i in range(SEEDS + 4)]
    before = folder / "main.summary.json"
    summarize(doctor, traces[0], before)
    for trace in traces[3:SEEDS + 3]:  # others are made late, one of them by more syncs
        code, out, err = gate(doctor, trace, before)
        expect(code == 0, f"a false alarm: {trace}: {out[-600:]} {err}")
    more = folder / "more.json"
    for trace in traces[3:8]:
        expect(with_one_kernel_more(trace, more) > 3, "no kernel was added")
        code, out, err = gate(doctor, more, before)
        expect(code == 1 and "✗ more.step.kernels == 0" in out and "aten::_to_copy" in out, f"one kernel more in {trace} was not found:", code, out, err)
        code, out, err = gate(doctor, trace, more)
        expect(code == 1, "one kernel less was not found:", code, out, err)
    summarize(doctor, more, folder / "more.summary.json")
    for trace in (traces[3], more):
        expect(differences(doctor, trace, traces[0]) == differences(doctor, trace, before), f"{trace}: the summary says something else than the trace")
    expect(differences(doctor, traces[4], more) == differences(doctor, traces[4], folder / "more.summary.json"), "the other summary says something else")


def check_sizes(doctor, make, folder):
    """Summaries of a step of 30,000 kernels, and of files of the tests."""
    code, _, err = run(make, "json", folder / "long", 4, 9_000)
    expect(code == 0, f"write_made_ranks: {err}")
    text = (folder / "long/rank0.json").read_text(encoding="utf-8")
    unmarked = folder / "unmarked.json"  # one step
    unmarked.write_text(text.replace("ProfilerStep#", "Step "), encoding="utf-8")
    for trace in (unmarked, folder / "long/rank3.json", SOURCE / "tests/inspect/launches.json", SOURCE / "tests/inspect/torch_cpu.json.gz"):
        size = summarize(doctor, trace, folder / "a.summary.json")
        code, out, err = run(doctor, trace, "--before", folder / "a.summary.json", "--expect", "more.kernels == 0; more.syncs == 0")
        expect(code == 0, f"{trace} differs from its own summary ({size} bytes):", out[-500:], err)


def check_damaged(doctor, folder):
    whole = (folder / "main.summary.json").read_bytes()
    trace, broken = folder / "traces/rank0.json", folder / "broken.json"
    seed = int(os.environ.get("PELLUCID_SEED", random.randrange(1 << 30)))
    chosen = random.Random(seed)
    for i in range(60):
        text = bytearray(whole)
        if i < 10:
            del text[chosen.randrange(40, len(text) - 3):]
        else:
            for _ in range(chosen.randrange(1, 4)):
                at = chosen.randrange(40, len(text))
                text[at] = chosen.choice(b"0123456789[]{},\"x-") if chosen.random() < 0.8 else chosen.randrange(256)
        broken.write_bytes(text)
        code, out, err = gate(doctor, trace, broken)
        right = code in (0, 1) or (code == 3 and not out and "is not a whole summary" in err)
        expect(right, f"a damaged summary, PELLUCID_SEED={seed} number {i}:", code, out[-200:], err)
        expect(code == 3 or i >= 10, f"a summary that was cut, PELLUCID_SEED={seed} number {i}: code {code}")
    for words, said in (((trace, trace, "--summary", broken), "give exactly one"), ((trace, trace, "--ranks", "--summary", broken), "give exactly one")):
        code, out, err = run(doctor, *words)
        expect(code == 2 and not out and said in err, words, code, err)


def check_large(doctor, make, folder):
    code, _, err = run(make, "json", folder / "large", 4, 370_000)
    expect(code == 0, f"write_made_ranks: {err}")
    trace = folder / "large/rank0.json"
    summarize(doctor, folder / "large/rank3.json", folder / "large.summary.json")
    gates, jsons = [], []
    for _ in range(3):
        (code, out, err), cpu = cpu_seconds(lambda: gate(doctor, trace, folder / "large.summary.json"))
        expect(code == 0, f"a false alarm of the large trace: {out[-500:]} {err}")
        gates.append(cpu)
        (code, _, err), cpu = cpu_seconds(lambda: run(sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1], 'rb'))", trace))
        expect(code == 0, err)
        jsons.append(cpu)
    ratio = min(gates) / min(jsons)
    print(f"gate on {trace.stat().st_size / 1e6:.0f} MB: {min(gates):.2f} CPU-s, {ratio:.2f} of Python's json")
    expect(ratio <= MAX_CPU_TO_JSON, "the gate takes too long:", gates, "CPU-s, Python's json", jsons)


def cpu_seconds(function):
    """What the function returns, and the CPU time of the processes that it ran."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    doctor, make, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        check_gate(doctor, make, folder)
        check_sizes(doctor, make, folder)
        check_damaged(doctor, folder)
        if rest:
            check_large(doctor, make, folder)
    for problem in problems:
        print(problem)
    print(f"doctor_gate: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
