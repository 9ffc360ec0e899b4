#!/usr/bin/env python3
"""Reduces the traces of each rank to tables where it runs: FleetHandler is an on_trace_ready of PyTorch's profiler.

    python3 examples/fleet_handler.py [--doctor PELLUCID_DOCTOR] [FOLDER]

A rank writes its trace and starts `pellucid-doctor --parquet` on it at the lowest priority, while training goes on. Tables of step 8 of
rank 3 are in FOLDER/step=8/rank=3; the trace is deleted when they are complete. The program must have its module for Parquet
(doctor/docs/fleet.md). To use it in a program of yours, copy the class.
"""
import os
import pathlib
import subprocess
import sys

from doctor_example import profile, run, schedule, torch


class FleetHandler:
    """`labels`, such as job="llama" and commit="4f2a91", become columns. Call wait() before the process ends."""

    def __init__(self, folder, doctor="pellucid-doctor", rank=None, **labels):
        self.folder, self.doctor = pathlib.Path(folder), doctor
        self.rank = int(os.environ.get("RANK", 0)) if rank is None else rank
        self.labels = {"host": os.uname().nodename, **labels}
        self.running = []  # traces and the processes that reduce them

    def __call__(self, profiler):
        tables = self.folder / f"step={profiler.step_num}"
        tables.mkdir(parents=True, exist_ok=True)
        trace = self.folder / f"rank{self.rank}_step{profiler.step_num}.json"
        profiler.export_chrome_trace(str(trace))
        command = ["nice", "-n", "19", self.doctor, trace, "--parquet", tables, "--rank", str(self.rank)]
        for key, name in self.labels.items():
            command += ["--label", f"{key}={name}"]
        with open(trace.with_suffix(".log"), "w", encoding="utf-8") as log:
            self.running.append((trace, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)))

    def wait(self, seconds=600):
        """Returns the traces that could not be reduced. They are still there, with a .log that says why."""
        failed = []
        for trace, process in self.running:
            if process.wait(seconds) not in (0, 5):  # 5: broken parts of the trace were skipped
                failed.append(trace)
                continue
            trace.unlink()
            trace.with_suffix(".log").unlink()
        self.running.clear()
        return failed


def main(folder, doctor):
    model, x = torch.nn.Linear(64, 64), torch.randn(32, 64)
    handler = FleetHandler(folder, doctor, job="example")
    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=handler) as profiler:
        for _ in range(8):
            model(x).sum().backward()
            profiler.step()
    failed = handler.wait()
    for trace in failed:
        print(trace.with_suffix(".log").read_text(encoding="utf-8"), file=sys.stderr)
    for table in sorted(pathlib.Path(folder).glob("step=*/rank=*/meta.parquet")):
        print(table.relative_to(folder))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(main))
