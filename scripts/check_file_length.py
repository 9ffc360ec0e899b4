#!/usr/bin/env python3
"""Checks that a source file of more than 800 lines states the reason in a line that starts "// Long because"."""
import sys

from project_files import CPP, ROOT, project_files

MAX_LINES = 800
REASON = ("// Long because", "# Long because")

problems = []
for path in project_files(*CPP, ".py", ".cmake"):
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES and not any(line.startswith(REASON) for line in lines):
        problems.append(f'{path}: {len(lines)} lines: split it, or state the reason in a line "{REASON[0]} ..."')

print("\n".join(problems) or "file length: fine")
sys.exit(bool(problems))
