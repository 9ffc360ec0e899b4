"""What the examples for the doctor have in common: a profiler that records five steps after three, and the question."""
import argparse
import pathlib
import subprocess
import sys

try:
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
except ImportError:
    print("torch is not installed")
    sys.exit(77)


def record(folder):
    """A profiler: call its step() at the end of each step. Writes folder/trace.json."""
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    return profile(activities=activities, record_shapes=True, with_stack=True,  # sizes for bytes, lines of the program
                   schedule=schedule(wait=1, warmup=2, active=5, repeat=1),
                   on_trace_ready=lambda profiled: profiled.export_chrome_trace(str(pathlib.Path(folder) / "trace.json")))


def ask_doctor(doctor, folder):
    return subprocess.run([doctor, pathlib.Path(folder) / "trace.json"]).returncode


def run(main):
    parser = argparse.ArgumentParser()
    parser.add_argument("--doctor", default="pellucid-doctor")
    parser.add_argument("folder", nargs="?", default=".", type=pathlib.Path)
    asked = parser.parse_args()
    return main(asked.folder, asked.doctor)
