#!/usr/bin/env python3
"""Profiles a PyTorch function, and opens the doctor's report about it.

    python3 examples/profile_torch.py [--doctor PELLUCID_DOCTOR] [--no-open] [FOLDER]

Replace `step` by yours. Writes trace.json and report.html into FOLDER, by default the current one.
"""
import argparse
import pathlib
import subprocess
import sys
import webbrowser

try:
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function
except ImportError:
    print("torch is not installed")
    sys.exit(77)

device = "cuda" if torch.cuda.is_available() else "cpu"
x, gate, up, down = (torch.randn(size, device=device) for size in ((256, 512), (1408, 512), (1408, 512), (512, 1408)))


def step():
    gated = torch.nn.functional.gelu(x @ gate.T) * (x @ up.T)
    return gated @ down.T


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--doctor", default="pellucid-doctor")
    parser.add_argument("--no-open", action="store_true")
    parser.add_argument("folder", nargs="?", default=".", type=pathlib.Path)
    arguments = parser.parse_args()

    for _ in range(3):  # the first calls do more than later ones
        step()
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    with profile(activities=activities, record_shapes=True) as profiled:  # shapes are needed for bytes
        for i in range(5):
            with record_function(f"ProfilerStep#{i}"):
                step()
    trace, page = arguments.folder / "trace.json", arguments.folder / "report.html"
    profiled.export_chrome_trace(str(trace))

    code = subprocess.run([arguments.doctor, trace, "--html", page]).returncode
    if code == 0 and not arguments.no_open:
        webbrowser.open(page.resolve().as_uri())
    return code


if __name__ == "__main__":
    sys.exit(main())
