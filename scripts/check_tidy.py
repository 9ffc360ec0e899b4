#!/usr/bin/env python3
"""Runs clang-tidy over src/, as configured for the release preset. A file is checked again only when it changes.

What decides the outcome is hashed: the compile command, .clang-tidy, the file and every project header it reaches.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from project_files import ROOT

BUILD = ROOT / "build/release"
CACHE = ROOT / "build/tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

# In a tree that g++ has built, its precompiled header lies where clang looks for its own.
EXTRA = ["--extra-arg=-Wno-ignored-gch"]
# Steps of the analyzer in one function: by default 225,000, which is minutes for a file of templates.
for argument in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=10000"):
    EXTRA.append(f"--extra-arg={argument}")


def reached(path, seen):
    """Adds to `seen` the path and the project headers it includes, directly or not."""
    if path in seen or not path.is_file():
        return
    seen.add(path)
    for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for folder in (ROOT / "include", ROOT / "src", BUILD / "generated"):
            reached(folder / header, seen)


def digest(entry):
    files = set()
    reached(ROOT / entry["file"], files)
    content = hashlib.sha256(" ".join([entry["command"], *EXTRA]).encode())
    for path in [*sorted(ROOT.glob("src/**/.clang-tidy")), ROOT / ".clang-tidy", *sorted(files)]:
        content.update(path.read_bytes())
    return content.hexdigest()


def tidy(entry):
    """Returns what clang-tidy found, or nothing."""
    stamp = CACHE / digest(entry)
    if stamp.exists():
        return ""
    run = subprocess.run(["clang-tidy-19", "--quiet", *EXTRA, "-p", BUILD, entry["file"]],
                         capture_output=True, text=True)
    if run.returncode == 0:
        stamp.touch()
        return ""
    return run.stdout or run.stderr


CACHE.mkdir(parents=True, exist_ok=True)
commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
# Ops are compiled, and checked, many in one.
commands = [entry for entry in commands
            if entry["file"].startswith(f"{ROOT}/src/") or "/pellucid_ops.dir/Unity/" in entry["file"]]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    found = [output for output in pool.map(tidy, commands) if output]
if found:
    print("\n".join(found))
    sys.exit(f"tidy: {len(found)} files need a change")
print(f"tidy: {len(commands)} files are fine")
