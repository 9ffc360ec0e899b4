#!/usr/bin/env python3
"""Follows docs/adding-an-op.md literally in a copy of the project: writes the file, adds the line, runs the command.

Usage: follow_the_page.py FOLDER, where the copy and its build go.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"<!-- newcomer: (.*?) -->\n```\w+\n(.*?)```\n", re.DOTALL)
PARTS = ["CMakeLists.txt", "CMakePresets.json", "cmake", "dev", "docs", "include", "src", "tests", "tools"]


def copy_project(to):
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, to / part)
        else:
            shutil.copy2(source, to / part)
    # The op needs none of these, and all would be built.
    for folder in ("bench", "examples"):
        (to / folder).mkdir()
    shutil.rmtree(to / "tools" / "pellucid")
    for folder in (to / "tests").iterdir():
        if folder.is_dir() and folder.name not in ("conformance", "exhaustive", "support"):
            shutil.rmtree(folder)


def add_after(path, marker, text):
    """Inserts `text` after the line that starts with `marker`."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines):
        if line.startswith(marker):
            lines.insert(number + 1, text)
            path.write_text("".join(lines), encoding="utf-8")
            return
    sys.exit(f"{path}: no line starts with '{marker}'")


def follow(page, project):
    blocks = BLOCK.findall(page)
    if [kind.split()[0] for kind, _ in blocks] != ["src/ops/activations/squareplus.cc", "include/pellucid/ops/activations.h", "run"]:
        sys.exit("docs/adding-an-op.md: expected a file, a line and a command")
    for kind, text in blocks:
        target, _, marker = kind.partition(" after: ")
        if kind == "run":
            print(f"running: {text.strip()}", flush=True)
            output = subprocess.run(["bash", "-c", text], cwd=project, capture_output=True, text=True)
            print(output.stdout[-4000:], output.stderr[-4000:], sep="\n")
            if output.returncode != 0:
                sys.exit("the command of the page failed")
            return output.stdout
        if marker:
            if len(text.splitlines()) != 1:
                sys.exit("docs/adding-an-op.md: expected exactly one line in the header, as the page says")
            add_after(project / target, marker, text)
        else:
            (project / target).write_text(text, encoding="utf-8")
    return ""


def main():
    project = pathlib.Path(sys.argv[1]).resolve()
    copy_project(project)
    follow((ROOT / "docs/adding-an-op.md").read_text(encoding="utf-8"), project)
    log = (project / "build/release/Testing/Temporary/LastTest.log").read_text(encoding="utf-8", errors="replace")
    ran = re.findall(r"^(\d+) cases$", log, re.MULTILINE)
    if not ran or int(ran[0]) < 100:
        sys.exit(f"the walker ran {ran or 'no'} cases of the new op; more than 100 are expected")
    shutil.rmtree(project)
    print(f"newcomer: one file, one line, {ran[0]} cases")


if __name__ == "__main__":
    main()
