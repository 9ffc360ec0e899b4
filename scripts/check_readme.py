#!/usr/bin/env python3
"""Checks that every C++ block in README.md, docs/ and doctor/ is an example that the tests run.

The line above a block names its file, <!-- examples/NAME.cc -->, and the block is that file, character by character.
A block that quotes a source file is marked <!-- excerpt: PATH -->, and is text of that file, in whole lines.
A block that is not a whole program is marked <!-- fragment -->; one that tests/newcomer writes into the project is marked
<!-- newcomer: … -->. The README's number of ops is that of docs/ops.md. With --self-test it first proves that it can fail.
"""
import re
import sys

from project_files import ROOT, self_test_tree

BLOCK = re.compile(r"^```(?:cpp|c\+\+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL | re.IGNORECASE)
MARKER = re.compile(r"<!-- (fragment|newcomer: [^\n]*|excerpt: [\w./-]+|examples/\w+\.cc) -->\s*\Z")


def check_excerpt(root, source, text):
    if not (root / source).is_file():
        return f"{source} does not exist: correct the path of the excerpt"
    if not text.strip() or "\n" + text not in "\n" + (root / source).read_text(encoding="utf-8"):
        return f"{source} has no such lines: copy the excerpt from it again"
    return None


def check_block(root, text, block):
    marker = MARKER.search(text, 0, block.start())
    if not marker:
        return "put <!-- examples/NAME.cc --> above this block, or <!-- fragment --> if it is not a whole program"
    source = marker.group(1)
    if source.startswith("excerpt: "):
        return check_excerpt(root, source.removeprefix("excerpt: "), block.group(1))
    if not source.startswith("examples/"):
        return None
    if not (root / source).is_file():
        return f"{source} does not exist: write it, or correct the marker"
    if (root / source).read_text(encoding="utf-8") != block.group(1):
        return f"this block and {source} differ: copy the file into the block"
    return None


def check_op_count(root):
    pages = [root / "README.md", root / "docs/ops.md"]
    counts = [re.search(r"^(?:- )?(\d+) ops\b", page.read_text(encoding="utf-8"), re.MULTILINE) for page in pages if page.is_file()]
    if len(counts) == 2 and all(counts) and counts[0].group(1) != counts[1].group(1):
        return [f"README.md: it says {counts[0].group(1)} ops; docs/ops.md has {counts[1].group(1)}"]
    return []


def check(root):
    problems = check_op_count(root)
    for path in [*root.glob("README.md"), *sorted((root / "docs").rglob("*.md")), *sorted((root / "doctor").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if problem := check_block(root, text, block):
                line = text.count("\n", 0, block.start()) + 1
                problems.append(f"{path.relative_to(root)}:{line}: {problem}")
    return problems


def self_test():
    example = "int main() {}\n"
    block = f"```cpp\n{example}```\n"
    cases = [  # text of the page, what the only message must contain; None: no message
        (f"Text.\n\n<!-- examples/one.cc -->\n{block}", None),
        (f"<!-- examples/one.cc -->\n\n{block}", None),
        (f"<!-- fragment -->\n{block}", None),
        (f"<!-- newcomer: src/ops/x.cc -->\n{block}", None),
        (f"<!-- excerpt: examples/one.cc -->\n{block}", None),
        ("<!-- excerpt: examples/one.cc -->\n```cpp\nmain() {}\n```\n", "no such lines"),
        ("<!-- excerpt: examples/one.cc -->\n```cpp\n```\n", "no such lines"),
        (f"<!-- excerpt: examples/two.cc -->\n{block}", "two.cc does not exist"),
        ("```sh\nls\n```\n", None),
        (f"Text.\n{block}", "page.md:2: put <!-- examples/NAME.cc -->"),
        (f"<!-- fragment -->\n{block}\nText.\n{block}", "page.md:7: put"),
        (f"<!-- examples/two.cc -->\n{block}", "does not exist"),
        ("<!-- examples/one.cc -->\n```cpp\nint main() { }\n```\n", "differ"),
    ]
    for text, expected in cases:
        self_test_tree({"examples/one.cc": example, "docs/page.md": text}, check, expected)
    for readme, expected in (("- 12 ops, each in one file\n", None), ("- 11 ops, each in one file\n", "README.md: it says 11 ops; docs/ops.md has 12")):
        self_test_tree({"README.md": readme, "docs/ops.md": "# Ops\n\n12 ops. Kernels\n"}, check, expected)


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT)
    print("\n".join(found) or "readme snippets: fine")
    sys.exit(bool(found))
