#!/usr/bin/env python3
"""Runs clang-tidy over src/, doctor/ and tools/, as configured for the release preset. A file is checked again only when it changes.

The hash covers the compile command, .clang-tidy, the file and every project header it includes.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from project_files import ROOT

BUILD = ROOT / "build/release"
CACHE = ROOT / "build/tidy"
TIDY = ROOT / ".linters/bin/clang-tidy"
# Compiled one by one, but checked up to eight at once: headers take most of the time. Their anonymous namespaces do not clash.
JOINED = re.compile(rf"{ROOT}/src/(tensor|dispatch|ops/views|backends/cpu/(attention|gemm|rows|sorting))/")
FILES_OF_ONE = 8
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

# In a g++ build tree, clang finds g++'s precompiled header where it expects its own.
EXTRA = ["--extra-arg=-Wno-ignored-gch"]
# The maximum steps of the analyzer in one function: the default of 225,000 takes minutes for a file of templates.
for argument in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=10000"):
    EXTRA.append(f"--extra-arg={argument}")


def reached(path, seen):
    """Adds to `seen` the path and the project headers it includes, directly or not."""
    if path in seen or not path.is_file():
        return
    seen.add(path)
    for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        for folder in (ROOT, ROOT / "include", ROOT / "src", BUILD / "generated"):
            reached(folder / header, seen)


def digest(entry):
    files = set()
    reached(ROOT / entry["file"], files)
    content = hashlib.sha256(" ".join([str(TIDY.stat().st_mtime), entry["command"], *EXTRA]).encode())
    for path in [*sorted(ROOT.glob("src/**/.clang-tidy")), ROOT / ".clang-tidy", *sorted(files)]:
        content.update(path.read_bytes())
    return content.hexdigest()


def tidy(entry):
    """Returns what clang-tidy found, or nothing."""
    stamp = CACHE / digest(entry)
    if stamp.exists():
        return ""
    run = subprocess.run([TIDY, "--quiet", *EXTRA, "-p", CACHE, entry["file"]],
                         capture_output=True, text=True)
    if run.returncode == 0:
        stamp.touch()
        return ""
    return run.stdout or run.stderr


def join(entries):
    """Returns the entries with those of JOINED folders replaced by entries for files that include several."""
    folders, result = defaultdict(list), []
    for entry in entries:
        (folders[JOINED.search(entry["file"])[1]] if JOINED.search(entry["file"]) else result).append(entry)
    for folder, parts in folders.items():
        for first in range(0, len(parts), FILES_OF_ONE):
            files = [part["file"] for part in parts[first:first + FILES_OF_ONE]]
            path = CACHE / f"{folder.replace('/', '_')}_{first // FILES_OF_ONE}.cc"
            path.write_text("".join(f'// NOLINTNEXTLINE(bugprone-suspicious-include)\n#include "{file}"\n' for file in files),
                            encoding="utf-8")
            result.append({**parts[first], "file": str(path), "command": parts[first]["command"].replace(files[0], str(path))})
    return result


if not TIDY.exists():
    sys.exit("tidy: clang-tidy is not installed: run ./dev setup")
CACHE.mkdir(parents=True, exist_ok=True)
commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
# Files that are compiled as one are checked as one.
OURS = re.compile(rf"{ROOT}/(src|tools|doctor(?!/(tests|fuzz)))/|/CMakeFiles/pellucid[_-]\w+\.dir/Unity/")
AGAIN = re.compile(r"/pellucid_runtime_\w+\.dir/")  # libpellucid-runtime compiles the same files
commands = join([entry for entry in commands if OURS.search(entry["file"]) and not AGAIN.search(entry["command"])])
(CACHE / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
with ThreadPoolExecutor(os.cpu_count()) as pool:
    found = [output for output in pool.map(tidy, commands) if output]
if found:
    print("\n".join(found))
    sys.exit(f"tidy: {len(found)} files need a change")
print(f"tidy: {len(commands)} files are fine")
