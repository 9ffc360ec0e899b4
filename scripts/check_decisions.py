#!/usr/bin/env python3
"""Checks docs/decisions: numbers, status lines and the index.

- Each page is NNNN-title.md with a number of its own, and begins "# NNNN Title".
- Its status is accepted or superseded; a page that supersedes another is named by that page, and the reverse.
- The index in README.md has a line for each page, with its title and what the status adds to "accepted".

With --fix it rewrites the index; with --self-test it first proves on small folders that it can fail.
"""
import re
import sys
from pathlib import Path

from project_files import self_test_tree

FOLDER = Path(__file__).resolve().parent.parent / "docs/decisions"
PAGE = re.compile(r"# (\d{4}) ([^\n]+)\n\nStatus: (.+?)\n\n", re.DOTALL)
STATUS = re.compile(r"(accepted|superseded by )")
HEAD = "| page | decision | remark |\n|---|---|---|\n"


def links(status, verb):
    """Returns the numbers of the pages that follow the verb, up to the next clause."""
    return {number for clause in re.findall(verb + r"([^;:]*)", status) for number in re.findall(r"\[(\d{4})\]", clause)}


def index_line(name, title, status):
    remark = re.sub(r"^accepted[,;]? ?", "", status)
    return f"| [{name[:4]}]({name}) | {title} | {remark} |"


def check(folder, fix=False):
    problems, pages = [], {}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        page = PAGE.match(path.read_text(encoding="utf-8"))
        if not page or page[1] != path.name[:4] or not STATUS.match(page[3]):
            problems.append(f"{path.name}: begin with '# {path.name[:4]} Title', an empty line and 'Status: accepted'")
        elif page[1] in pages:
            problems.append(f"{path.name}: {pages[page[1]][0]} has the same number: take the next free one")
        else:
            pages[page[1]] = (path.name, page[2], " ".join(page[3].split()))
    for number, (name, _, status) in pages.items():
        for verb, reverse in (("superseded (?:in part )?by", "supersedes"), ("supersedes", "superseded (?:in part )?by")):
            for other in links(status, verb):
                if other not in pages or number not in links(pages[other][2], reverse):
                    problems.append(f"{name}: page {other} must link back to {number} in its status")
    index = HEAD + "".join(index_line(*page) + "\n" for _, page in sorted(pages.items()))
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8")
    if index not in text and fix:
        readme.write_text(text[:text.index(HEAD)] + index, encoding="utf-8")
    elif index not in text or not text.endswith(index):
        problems.append("README.md: the index differs from the pages: run scripts/check_decisions.py --fix")
    return problems


def self_test():
    first, second = "# 0001 One\n\nStatus: accepted\n\n", "# 0002 Two\n\nStatus: accepted\n\n"
    replaced = "# 0001 One\n\nStatus: superseded by [0002](0002-b.md)\n\n"
    replacing = "# 0002 Two\n\nStatus: accepted; supersedes [0001](0001-a.md)\n\n"
    index = HEAD + "| [0001](0001-a.md) | One |  |\n"
    both = HEAD + ("| [0001](0001-a.md) | One | superseded by [0002](0002-b.md) |\n"
                   "| [0002](0002-b.md) | Two | supersedes [0001](0001-a.md) |\n")
    cases = [  # the files, what the only message must contain; None: no message
        ({"0001-a.md": first, "README.md": index}, None),
        ({"0001-a.md": replaced, "0002-b.md": replacing, "README.md": both}, None),
        ({"0001-a.md": first, "README.md": HEAD}, "the index differs"),
        ({"0001-a.md": first.replace("One", "Other"), "README.md": index}, "the index differs"),
        ({"0001-a.md": first, "0001-b.md": first, "README.md": index}, "has the same number"),
        ({"0001-a.md": first, "0002-b.md": "Two\n", "README.md": index}, "begin with '# 0002 Title'"),
        ({"0001-a.md": replaced, "0002-b.md": second,
          "README.md": both.replace("supersedes [0001](0001-a.md)", "")}, "must link back to 0001"),
        ({"0001-a.md": first, "0002-b.md": replacing,
          "README.md": both.replace("superseded by [0002](0002-b.md)", "")}, "must link back to 0002"),
    ]
    for files, expected in cases:
        self_test_tree(files, check, expected)


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(FOLDER, "--fix" in sys.argv)
    print("\n".join(f"docs/decisions/{problem}" for problem in found) or "decisions: fine")
    sys.exit(bool(found))
