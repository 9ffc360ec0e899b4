#!/usr/bin/env python3
"""Checks that no code is marked as unfinished: finish it, or document that it is missing."""
import re
import sys

from project_files import CPP, ROOT, project_files

MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b")  # split, so that this file passes

problems = []
for path in project_files(*CPP, ".py", ".cmake", ".txt", ".md", ".json", ""):
    for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
        if mark := MARK.search(line):
            problems.append(f"{path}:{number}: {mark.group()}: finish it, or document that it is missing")

print("\n".join(problems) or "leftovers: none")
sys.exit(bool(problems))
