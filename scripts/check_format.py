#!/usr/bin/env python3
"""Checks every C++ file with clang-format. With --fix it rewrites them instead."""
import subprocess
import sys

from project_files import CPP, ROOT, project_files

mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror", "--ferror-limit=1"]
files = project_files(*CPP)
if files and subprocess.run(["clang-format-19", *mode, *files], cwd=ROOT).returncode:
    sys.exit("format: run ./dev format")
print(f"format: {len(files)} files are fine")
