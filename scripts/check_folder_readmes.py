#!/usr/bin/env python3
"""Checks that every folder of src/, and every backend, says in a README.md of at most 25 lines what it is for."""
import sys

from project_files import ROOT, project_files

MAX_LINES = 25

folders = set()
for path in project_files():
    parents = path.parts[:-1]
    if parents[:1] == ("src",) and len(parents) > 1:
        folders.add("/".join(parents[:2]))
        if parents[1] == "backends" and len(parents) > 2:
            folders.add("/".join(parents[:3]))

problems = []
for folder in sorted(folders):
    readme = ROOT / folder / "README.md"
    if not readme.is_file():
        problems.append(f"{folder}: add README.md: what the folder is for, and where to start reading")
    elif (lines := len(readme.read_text(encoding="utf-8").splitlines())) > MAX_LINES:
        problems.append(f"{folder}/README.md: {lines} lines: shorten it to {MAX_LINES}")

print("\n".join(problems) or "folder readmes: fine")
sys.exit(bool(problems))
