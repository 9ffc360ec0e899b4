#!/usr/bin/env python3
"""Holds what the doctor says that fusing would save against what torch.compile does save, on the CPU, with one thread.

    fused_saving.py [--python INTERPRETER] [--keep TRACE] PELLUCID_DOCTOR [CASE…]

Each case is profiled eagerly, and the doctor reads that trace alone. In turns with that, eager and compiled calls are measured,
and the difference of their medians is what was saved. Fails where gelu(a) * b is off by more than 25 %; other cases are shown.
INTERPRETER is the one that has torch. Takes half a minute a case.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

MAX_OFF = 25  # percent
HELD = "gelu_mul"
ROUNDS, REPEATS = 5, 5


def cases(torch):
    functional = torch.nn.functional

    def big(dtype=torch.float32):
        return torch.randn(8192, 3072).to(dtype)

    return {
        HELD: (lambda a, b: functional.gelu(a) * b, (big(), big())),
        "gelu_mul_bf16": (lambda a, b: functional.gelu(a) * b, (big(torch.bfloat16), big(torch.bfloat16))),
        "add_relu_mul": (lambda a, b, c: torch.relu(a + b) * c, (big(), big(), big())),
        "rms_norm": (lambda a, b: a * torch.rsqrt((a * a).mean(-1, keepdim=True) + 1e-6) * b, (big(), torch.randn(3072))),
    }


def predicted_ns(doctor, call, trace):
    """What fusing would save of one call, and the chains."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
        for _ in range(REPEATS):
            call()
    profiled.export_chrome_trace(trace)
    ran = subprocess.run([doctor, trace, "--json", "--only", "chains"], capture_output=True, text=True, check=True)
    chains = json.loads(ran.stdout)["findings"]["chains"]
    return chains["facts"]["saved_ns"] / REPEATS, ", ".join(row["ops"] for row in chains["tables"]["chains"])


def compare_with_compiled(doctor, eager, compiled, trace):
    """Medians of one call, eager and compiled, and of the prediction; in rounds, since machines are not always as fast."""
    times, predictions = ([], []), []
    for _ in range(ROUNDS):
        predicted, chains = predicted_ns(doctor, eager, trace)
        predictions.append(predicted)
        for _ in range(REPEATS):
            for call, list_ in zip((eager, compiled), times):
                begin = time.perf_counter_ns()
                call()
                list_.append(time.perf_counter_ns() - begin)
    return *(statistics.median(list_) for list_ in (*times, predictions)), chains


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python")
    parser.add_argument("--keep")
    parser.add_argument("doctor")
    parser.add_argument("cases", nargs="*")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        if arguments.python and os.path.exists(arguments.python) and "PELLUCID_TORCH_TRIED" not in os.environ:
            os.environ["PELLUCID_TORCH_TRIED"] = "1"
            os.execv(arguments.python, [arguments.python, *sys.argv])
        print("torch is not installed: ./dev setup --peers")
        return 0
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    failed = False
    print(f"{'case':<16}{'eager':>10}{'compiled':>10}{'saved':>10}{'predicted':>10}{'off':>8}  chains")
    for name, (function, inputs) in cases(torch).items():
        if arguments.cases and name not in arguments.cases:
            continue
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            compiled = torch.compile(function)
            for _ in range(3):
                function(*inputs), compiled(*inputs)
            trace = arguments.keep or os.path.join(folder, "eager.json")
            eager_ns, compiled_ns, predicted, chains = compare_with_compiled(
                arguments.doctor, lambda: function(*inputs), lambda: compiled(*inputs), trace)
        saved = eager_ns - compiled_ns
        off = 100 * (predicted - saved) / saved
        times = "".join(f"{ns / 1e6:>7.1f} ms" for ns in (eager_ns, compiled_ns, saved, predicted))
        print(f"{name:<16}{times}{off:>+6.0f} %  {chains}", flush=True)
        failed |= name == HELD and abs(off) > MAX_OFF
    if failed:
        print(f"{HELD} is off by more than {MAX_OFF} %")
    return failed


if __name__ == "__main__":
    sys.exit(main())
