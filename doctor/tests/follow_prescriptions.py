#!/usr/bin/env python3
"""Runs programs of PyTorch with a planted mistake on the CPU, asks the doctor what to do, follows it, and compares what that
gained with what was predicted.

    follow_prescriptions.py PELLUCID_DOCTOR [--python PYTHON] [--only NAME] [--within PERCENT]

Programs with the mistake and without it run in turn, without a profiler. Without PyTorch the exit code is 77.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

MAX_OFF_PERCENT = 25
ROUNDS = 7
STEPS = 12


# Each program is a function of whether it has the mistake; it returns a function that runs one step. `batches` says of how many
# samples the step without the mistake is, compared with the other.

def loads_in_the_step(wrong):
    import torch

    class Images(torch.utils.data.Dataset):
        def __len__(self):
            return 1_000_000

        def __getitem__(self, index):
            time.sleep(0.004)  # a disk or an object store
            return torch.full((1024,), float(index % 7))

    loader = torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=0 if wrong else 2, prefetch_factor=None if wrong else 4)
    batches = iter(loader)
    weight = torch.randn(1024, 1024)

    def step():
        return torch.relu(next(batches).repeat(64, 1) @ weight)

    return step


def reads_values_one_by_one(wrong):
    import torch
    x, weight = torch.randn(2048, 256), torch.randn(256, 256)

    def step():
        losses = (x @ weight).square().mean(dim=1)
        return sum(loss.item() for loss in losses.unbind()) if wrong else sum(losses.tolist())

    return step


def leaves_a_chain(wrong):
    import torch
    x, bias, gate = torch.randn(1024, 1024), torch.randn(1024, 1024), torch.randn(1024, 1024)

    def activation(x, bias, gate):
        return torch.relu(x + bias).mul(gate).add(1.0).clamp(-4.0, 4.0)

    compiled = activation if wrong else torch.compile(activation)
    return lambda: compiled(x, bias, gate)


def has_a_batch_of_four(wrong):
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[layer for _ in range(8) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())])
    x = torch.randn(4 if wrong else 32, 64)

    def step():
        with torch.no_grad():
            for _ in range(20):
                y = model(x)
        return y

    return step


def loops_over_small_ops(wrong):
    import torch
    x, scale = torch.randn(400, 32), torch.randn(400)

    def step():
        if not wrong:
            return x * scale[:, None] + 1
        rows = []
        for i in range(400):
            rows.append(x[i] * scale[i] + 1)
        return torch.stack(rows)

    return step


PROGRAMS = {
    "loads_in_the_step": (loads_in_the_step, "load_ahead", 1),
    "reads_values_one_by_one": (reads_values_one_by_one, "remove_sync", 1),
    "leaves_a_chain": (leaves_a_chain, "compile", 1),
    "has_a_batch_of_four": (has_a_batch_of_four, "larger_batch", 8),
    "loops_over_small_ops": (loops_over_small_ops, "vectorise_loop", 1),
}


def seconds_of(step):
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - begin) / STEPS


def record(step, path):
    from torch.profiler import ProfilerActivity, profile, schedule
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True,
                 schedule=schedule(wait=0, warmup=2, active=STEPS),
                 on_trace_ready=lambda prof: prof.export_chrome_trace(path)) as prof:
        for _ in range(STEPS + 2):
            step()
            prof.step()


def run_program(name, doctor):
    """Prints a line of JSON: what was prescribed, what it predicts, and what following it gained."""
    import torch
    torch.set_num_threads(1)
    program, _, batches = PROGRAMS[name]
    wrong, right = program(True), program(False)
    for step in (wrong, right, wrong, right):
        step()
    shares = []
    for _ in range(ROUNDS):
        before, after = seconds_of(wrong), seconds_of(right)
        shares.append(100 * (1 - after / batches / before))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        record(wrong, path)
        report = json.loads(subprocess.run([doctor, path, "--json"], check=True, capture_output=True, timeout=120).stdout)
    actions = report["findings"].get("prescriptions", {"tables": {"actions": []}})["tables"]["actions"]
    print(json.dumps({"measured": statistics.median(shares), "low": min(shares), "high": max(shares),
                      "actions": [{key: action[key] for key in ("key", "saved", "action", "where")} for action in actions]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("doctor", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable, help="with PyTorch")
    parser.add_argument("--only", choices=PROGRAMS)
    parser.add_argument("--within", type=float, default=MAX_OFF_PERCENT, help="percent of what was measured")
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.program:
        return run_program(asked.program, asked.doctor)
    if not pathlib.Path(asked.python).exists() or subprocess.run([asked.python, "-c", "import torch"], capture_output=True).returncode:
        print(f"{asked.python} has no PyTorch: ./dev setup --peers installs it")
        return 77
    failed = 0
    print(f"{'program':<26} {'prescribed first':<16} {'predicted':>10} {'measured':>9}  spread")
    for name, (_, remedy, _) in PROGRAMS.items():
        if asked.only not in (None, name):
            continue
        done = subprocess.run([asked.python, __file__, str(asked.doctor), "--program", name], capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            print(f"{name}: {done.stderr}")
            failed += 1
            continue
        said = json.loads(done.stdout.splitlines()[-1])
        first = said["actions"][0] if said["actions"] else {"key": "nothing", "saved": 0.0, "where": None}
        off = 100 * abs(first["saved"] / said["measured"] - 1)
        holds = first["key"] == remedy and off <= asked.within
        failed += not holds
        print(f"{name:<26} {first['key']:<16} {first['saved']:>8.1f} % {said['measured']:>7.1f} %  "
              f"{said['low']:.1f} to {said['high']:.1f} %, off by {off:.0f} %{'' if holds else ': FAILED'}; at {first['where']}", flush=True)
        if not holds:
            for action in said["actions"]:
                print(f"    {action['key']} {action['saved']:.1f} %: {action['action']} at {action['where']}")
    print(f"follow_prescriptions: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
