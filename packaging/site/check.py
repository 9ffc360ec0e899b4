#!/usr/bin/env python3
"""Checks the built site: every link leads to a page or file of it, every # to an anchor of that page, and no page loads anything from
another host. Text that mkdocs failed to read as a list, a table or a block of code is an error, too.

    packaging/site/check.py [--self-test] [--build PYTHON] SITE

With --build it builds the site first, with a Python that has mkdocs.
Links that a reader follows by a click may lead to other hosts; scripts, styles, pictures and fonts may not. The policy in each
page's head makes browsers refuse them, too.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

CLICKED = {("a", "href"), ("form", "action")}
LOADED = {"src", "href", "srcset", "data", "poster", "action"}
STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"]?)((?:https?:)?//[^'\")\s]+)")
POLICY = "default-src 'self' 'unsafe-inline' data: blob:"
# Lines that begin as Markdown does, in a paragraph.
UNREAD = re.compile(r"\n(?:[-*] \S.*|\d{1,2}\. \S.*|\|.*\||```|~~~|#{1,6} .*)")


class Page(HTMLParser):
    """What a page links to, loads and defines."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.policies, self.unread = [], [], set(), [], []
        self.paragraph, self.is_style = None, False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.update(value for name, value in attributes if name in ("id", "name") and value)
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given.get("content"))
        for name, value in attributes:
            if name in LOADED and value:
                (self.links if (tag, name) in CLICKED else self.loads).append(value)
            elif name == "style" and value:
                self.loads += STYLE.findall(value)
        self.is_style = tag == "style"
        if tag == "p":
            self.paragraph = ""
        elif tag in ("pre", "table", "ul", "ol", "div"):
            self.paragraph = None

    def handle_data(self, data):
        if self.is_style:
            self.loads += STYLE.findall(data)
        if self.paragraph is not None:
            self.paragraph += data

    def handle_endtag(self, tag):
        self.is_style = False
        if tag == "p" and self.paragraph is not None:
            self.unread += [match[0].strip() for match in UNREAD.finditer(self.paragraph)]
            self.paragraph = None


def is_elsewhere(address):
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp", "ws", "wss")


def check_page(site, path, page, pages):
    where = path.relative_to(site)
    problems = [f"{where}: loads {address} from another host" for address in page.loads if is_elsewhere(address)]
    problems += [f"{where}: '{text}' is text, not a list, table or heading: add an empty line before it" for text in page.unread]
    for address in page.links + page.loads:
        parts = urlsplit(address)
        if is_elsewhere(address) or parts.scheme:  # data: and mailto: lead to no file
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target = target / "index.html"
        if not target.is_file() or not target.is_relative_to(site):
            problems.append(f"{where}: {address} does not exist")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids | {"__top"}:
            problems.append(f"{where}: {address}: the page has no such anchor")
    return problems


def check(site):
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = [problem for path, page in pages.items() for problem in check_page(site, path, page, pages)]
    for path, page in pages.items():
        if "__palette" in page.ids and POLICY not in page.policies:  # a page of mkdocs, not one of our own programs
            problems.append(f"{path.relative_to(site)}: its policy does not forbid other hosts")
    for path in sorted(site.rglob("*.css")):
        problems += [f"{path.relative_to(site)}: loads {address} from another host"
                     for address in STYLE.findall(path.read_text(encoding="utf-8"))]
    return len(pages), sum(len(page.links) for page in pages.values()), sorted(set(problems))


def self_test():
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    cases = [  # the body of a page, what the only problem must contain; None: no problem
        ('<a href="b/other.html#part">x</a><a href="b/">y</a><a href="https://example.org">z</a><p id="here"><a href="#here">h</a></p>', None),
        ('<form id="__palette"></form>' + policy, None),
        ('<a href="none.html">x</a>', "none.html does not exist"),
        ('<a href="../outside.html">x</a>', "outside.html does not exist"),
        ('<a href="b/other.html#none">x</a>', "the page has no such anchor"),
        ('<a href="#none">x</a>', "the page has no such anchor"),
        ('<img src="none.svg">', "none.svg does not exist"),
        ('<img src="https://example.org/a.svg">', "from another host"),
        ('<script src="//example.org/a.js"></script>', "from another host"),
        ('<link rel="stylesheet" href="https://example.org/a.css">', "from another host"),
        ('<p style="background: url(https://example.org/a.png)">x</p>', "from another host"),
        ('<style>@import "https://example.org/a.css";</style>', "from another host"),
        ('<p>Text:\n- item</p>', "'- item' is text"),
        ('<p>| a | b |\n| c | d |</p>', "is text"),
        ('<form id="__palette"></form>', "policy"),
    ]
    for body, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder, "site")
            (site / "b").mkdir(parents=True)
            Path(folder, "outside.html").write_text("", encoding="utf-8")
            (site / "a.html").write_text(body, encoding="utf-8")
            for name in ("other.html", "index.html"):
                (site / "b" / name).write_text('<h2 id="part">Part</h2>', encoding="utf-8")
            _, _, problems = check(site)
        right = not problems if expected is None else any(expected in problem for problem in problems)
        if not right:
            sys.exit(f"self-test: {body}: expected {expected!r}, got {problems}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--build", type=Path, metavar="PYTHON", help="build the site first; .docs/bin/python has mkdocs")
    asked = parser.parse_args()
    if asked.self_test:
        self_test()
    if asked.build and not asked.build.is_file():
        sys.exit(f"site: skipped: mkdocs is not installed: {asked.build} does not exist; ./dev setup --doors installs it")
    if asked.build:
        subprocess.run([asked.build, Path(__file__).with_name("build.py"), "--output", asked.site,
                        "--pages", asked.site.with_name(asked.site.name + "_pages")], check=True)
    count, links, found = check(asked.site)
    if not count:
        found = [f"{asked.site} has no pages: run ./dev site"]
    print("\n".join(found) or f"site: {count} pages and {links} links are fine")
    sys.exit(bool(found))
