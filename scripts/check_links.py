#!/usr/bin/env python3
"""Checks that each relative link and picture of every Markdown page leads to a file or folder of the project, and each # to a heading.

With --self-test it first proves on small trees that it can fail. packaging/site/check.py checks the pages of the site instead.
"""
import sys
from pathlib import PurePosixPath

from markdown_pages import anchors, is_external, links, target_of
from project_files import ROOT, project_files, self_test_tree


def check(root, pages=None):
    pages = pages or sorted(path.relative_to(root).as_posix() for path in root.rglob("*.md"))
    texts = {page: (root / page).read_text(encoding="utf-8") for page in pages}
    headings = {}
    problems = []
    for page, text in texts.items():
        for line, address in links(text):
            if is_external(address):
                continue
            where, target, anchor = f"{page}:{line}", target_of(page, address), address.partition("#")[2]
            if target.startswith("..") or not (root / target).exists():
                problems.append(f"{where}: {address} does not exist: correct the link")
            elif anchor and PurePosixPath(target).suffix == ".md":
                if target not in headings:
                    headings[target] = anchors(texts.get(target) or (root / target).read_text(encoding="utf-8"))
                if anchor not in headings[target]:
                    problems.append(f"{where}: {target} has no heading #{anchor}: correct the link")
    return problems


def self_test():
    other = "# One `two`, three\n\n## Part\n\n```sh\n# not a heading\n```\n\n## Part\n"
    cases = [  # text of the page, what the only message must contain; None: no message
        ("[a](docs/other.md#one-two-three) [b](docs/other.md#part_1) [c](docs)", None),
        ("# Here\n\n[a](#here) [b](https://example.org/none) `[c](none.md)`", None),
        ("```text\n[a](none.md)\n```", None),
        ("\n[a](docs/none.md)", "page.md:2: docs/none.md does not exist"),
        ("![a](none.svg)", "none.svg does not exist"),
        ("[`code`](none.md \"title\")", "none.md does not exist"),
        ("[a](docs/other.md#not-a-heading)", "docs/other.md has no heading #not-a-heading"),
        ("[a](#none)", "page.md has no heading #none"),
        ("[a](../outside.md)", "../outside.md does not exist"),
    ]
    for text, expected in cases:
        self_test_tree({"page.md": text, "docs/other.md": other}, check, expected)


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT, [path.as_posix() for path in project_files(".md")])
    print("\n".join(found) or "links: fine")
    sys.exit(bool(found))
