#!/usr/bin/env python3
"""Checks the pages that list what the sources have.

- docs/errors.md has a section for each code of include/pellucid/error.h, with its class, a cause and a fix; a quoted message is one
  of the sources, where … stands for a value.
- docs/environment.md lists each variable PELLUCID_* that the sources read, and no other.

With --self-test it first proves on small trees, each with one error, that it can fail.
"""
import re
import sys

from project_files import ROOT, project_files, self_test_tree

HEADER, NAMES, ERRORS, ENVIRONMENT = "include/pellucid/error.h", "src/base/error.cc", "docs/errors.md", "docs/environment.md"
SECTION = re.compile(r"^## (E\d\d [a-z ]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
MARKED = re.compile(r"`([^`]+)`")
# How sources name a variable that they read: as a whole text, or in the ways of shell, CMake and JavaScript.
READ = re.compile(r"""["'](PELLUCID_[A-Z_]+)["']|\$\{(PELLUCID_[A-Z_]+)-|\$ENV\{(PELLUCID_[A-Z_]+)\}|process\.env\.(PELLUCID_[A-Z_]+)""")
SOURCES = (".cc", ".h", ".py", ".mjs", ".js", ".cmake", "")
PIECE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def plain(text):
    return " ".join(text.split())


def messages_of(sources):
    """The texts of the sources, those of several lines joined."""
    return [re.sub(r"\{[^}]*\}", "…", "".join(PIECE.findall(run[0]))) for text in sources
            for run in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*\n\s*"(?:[^"\\\n]|\\.)*")*', text)]


def check_errors(root, sources):
    header = (root / HEADER).read_text(encoding="utf-8")
    codes = dict(re.findall(r"^  (\w+) = (\d+),", header, re.MULTILINE))
    names = dict(re.findall(r'case ErrorCode::(\w+):\s+return "(E\d\d [a-z ]+)"', (root / NAMES).read_text(encoding="utf-8")))
    page = (root / ERRORS).read_text(encoding="utf-8")
    sections = dict(SECTION.findall(page))
    problems = []
    for code, number in codes.items():
        name = names.get(code, f"E{int(number):02}")
        section = sections.pop(name, None)
        if section is None:
            problems.append(f"{ERRORS}: add a section '## {name}' for ErrorCode::{code}")
        elif f"`{code}Error`" not in section or not re.search(r"\*\*Cause\.\*\* \S.*\*\*Fix\.\*\* \S", section, re.DOTALL):
            problems.append(f"{ERRORS}: '{name}' needs `{code}Error`, a **Cause.** and a **Fix.**")
    problems += [f"{ERRORS}: '{name}' is not a code of {HEADER}" for name in sections]
    known = messages_of(sources)
    quoted = [plain(marked) for section in dict(SECTION.findall(page)).values() for marked in MARKED.findall(section)]
    for message in quoted:  # of several words: others are names
        if message.count(" ") > 1 and not any(message in text for text in known):
            problems.append(f"{ERRORS}: no message of the sources has `{message}`")
    return problems


def check_environment(root, texts):
    read = {name: path for path, text in texts.items() for match in READ.finditer(text) for name in match.groups() if name}
    listed = set(re.findall(r"`(PELLUCID_[A-Z_]+)`", (root / ENVIRONMENT).read_text(encoding="utf-8")))
    problems = [f"{ENVIRONMENT}: {path} reads {name}: add its line" for name, path in sorted(read.items()) if name not in listed]
    return problems + [f"{ENVIRONMENT}: nothing reads {name}: remove it" for name in sorted(listed - set(read))]


def check(root, paths=None):
    paths = paths or [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
    texts = {path.as_posix(): (root / path).read_text(encoding="utf-8") for path in paths
             if path.suffix in SOURCES and path.as_posix() != "scripts/check_reference.py"}
    sources = [text for path, text in texts.items() if path.startswith(("src/", "include/")) and path.endswith((".cc", ".h"))]
    return check_errors(root, sources) + check_environment(root, texts)


def self_test():
    section = "## E01 shape\n\n`ShapeError`: sizes.\n\n- **Cause.** Sizes: `inner sizes … differ\n  much`.\n- **Fix.** Print them.\n"
    good = {
        HEADER: "enum class ErrorCode {\n  Shape = 1,  // sizes\n};\n",
        NAMES: 'case ErrorCode::Shape:\n      return "E01 shape";\n',
        "src/a.cc": 'fail("inner sizes {} "\n     "differ much"); getenv("PELLUCID_ONE");\n',
        ERRORS: section,
        ENVIRONMENT: "| `PELLUCID_ONE` | one |\n",
    }
    cases = [  # changes to the good tree, what the only message must contain; None: no message
        ({}, None),
        ({ERRORS: "# Errors\n"}, "add a section '## E01 shape'"),
        ({ERRORS: section.replace("**Fix.** Print them.", "")}, "needs `ShapeError`"),
        ({ERRORS: section.replace("`ShapeError`", "`Error`")}, "needs `ShapeError`"),
        ({ERRORS: section + "## E02 dtype\n"}, "'E02 dtype' is not a code"),
        ({ERRORS: section.replace("inner", "outer")}, "no message of the sources has `outer sizes"),
        ({ENVIRONMENT: "none\n"}, "reads PELLUCID_ONE: add its line"),
        ({ENVIRONMENT: "`PELLUCID_ONE` `PELLUCID_TWO`\n"}, "nothing reads PELLUCID_TWO"),
        ({"dev": "x=${PELLUCID_TWO-off}\n"}, "dev reads PELLUCID_TWO"),
    ]
    for changes, expected in cases:
        self_test_tree({**good, **changes}, check, expected)


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT, project_files())
    print("\n".join(found) or "reference: fine")
    sys.exit(bool(found))
