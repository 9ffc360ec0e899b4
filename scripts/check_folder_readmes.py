#!/usr/bin/env python3
"""Checks the folders of sources.

- Every folder of src/ and doctor/, every backend and include/pellucid say in a README.md of at most 60 lines what they are for.
- Every header is named in the README.md of its folder, or of a folder above it.
- No folder has more than 60 C++ files.

With --self-test it first proves on small trees, each with one error, that it can fail.
"""
import sys
import tempfile
from collections import Counter
from pathlib import Path, PurePosixPath

from project_files import CPP, ROOT, project_files

MAX_LINES = 60
MAX_FILES = 60
ROOTS = ("src", "doctor", "include")


def folders_with_readme(paths):
    """The folders of which a README.md is expected."""
    folders = set()
    for path in paths:
        parents = path.parts[:-1]
        if parents[:1] == ("src",) and len(parents) > 1:
            folders.add(PurePosixPath(*parents[:2]))
            if parents[1] == "backends" and len(parents) > 2:
                folders.add(PurePosixPath(*parents[:3]))
        elif parents[:1] == ("doctor",):
            folders.add(PurePosixPath("doctor"))
        elif parents[:1] == ("include",):
            folders.add(PurePosixPath(*parents[:2]))
    return sorted(folders)


def check(root, paths):
    paths = [PurePosixPath(path) for path in paths]
    problems = []
    for folder in folders_with_readme(paths):
        readme = root / folder / "README.md"
        if not readme.is_file():
            problems.append(f"{folder}: add README.md: what the folder is for, and where to start reading")
        elif (lines := len(readme.read_text(encoding="utf-8").splitlines())) > MAX_LINES:
            problems.append(f"{folder}/README.md: {lines} lines: shorten it to {MAX_LINES}")
    for path in paths:
        if path.suffix != ".h" or path.parts[0] not in ROOTS or "tests" in path.parts:
            continue
        readmes = [root / parent / "README.md" for parent in path.parents]
        if not any(f"{path.name}`" in readme.read_text(encoding="utf-8") for readme in readmes if readme.is_file()):
            problems.append(f"{path}: say in the README.md of its folder what it is for: `{path.name}`")
    for folder, count in sorted(Counter(path.parent for path in paths if path.suffix in CPP).items()):
        if count > MAX_FILES:
            problems.append(f"{folder}: {count} C++ files: split the folder; {MAX_FILES} is the limit")
    return problems


def self_test():
    good = {"src/base/README.md": "`a.h` does a.\n", "src/base/a.h": "", "src/base/a.cc": ""}
    cases = [  # changes to the good tree, what the only message must contain; None: no message
        ({}, None),
        ({"src/base/README.md": None}, "src/base: add README.md"),
        ({"src/base/README.md": "`a.h`\n" + "line\n" * MAX_LINES}, "shorten it"),
        ({"src/base/b.h": ""}, "src/base/b.h: say in the README.md"),
        ({"src/base/sub/b.h": "", "src/base/README.md": "`a.h`, `sub/b.h`\n"}, None),
        ({f"src/base/f{i}.cc": "" for i in range(MAX_FILES - 2)}, None),
        ({f"src/base/f{i}.cc": "" for i in range(MAX_FILES)}, "split the folder"),
    ]
    for changes, expected in cases:
        tree = {name: text for name, text in {**good, **changes}.items() if text is not None}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in tree.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            problems = check(Path(folder), tree)
        if expected is None:
            right = not problems
        else:  # without its README a folder does not name its headers either
            right = any(expected in problem for problem in problems) and len(problems) <= 2
        if not right:
            sys.exit(f"self-test: {list(changes)}: expected {expected!r}, got {problems}")


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT, project_files())
    print("\n".join(found) or "folder readmes: fine")
    sys.exit(bool(found))
