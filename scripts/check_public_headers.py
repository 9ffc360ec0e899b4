#!/usr/bin/env python3
"""Checks the public headers: short, only standard and pellucid headers inside, and each compiles alone."""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from project_files import ROOT, project_files

MAX_LINES = 400
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"][^>"]+[>"])', re.MULTILINE)
# Standard headers have no dot and no slash, but for the two that a C struct needs.
ALLOWED = re.compile(r'<[a-z_]+>|<std(int|def)\.h>|"pellucid/[\w/]+\.(h|inc)"')
COMPILE = "g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude -x c++ -".split()


def check(path):
    problems = []
    text = (ROOT / path).read_text(encoding="utf-8")
    if (lines := len(text.splitlines())) > MAX_LINES:
        problems.append(f"{path}: {lines} lines: split it; a public header has at most {MAX_LINES}")
    for header in INCLUDE.findall(text):
        if not ALLOWED.fullmatch(header):
            problems.append(f'{path}: includes {header}: public headers use only the standard library and "pellucid/..."')
    line = f'#include "{path.relative_to("include")}"\n'
    compiled = subprocess.run(COMPILE, cwd=ROOT, input=line, capture_output=True, text=True)
    if compiled.returncode:
        problems.append(f"{path}: does not compile alone: add what it uses\n{compiled.stderr}")
    return problems


headers = [path for path in project_files(".h") if path.parts[0] == "include"]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    found = [problem for problems in pool.map(check, headers) for problem in problems]
print("\n".join(found) or f"public headers: {len(headers)} are fine")
sys.exit(bool(found))
