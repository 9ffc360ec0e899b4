#!/usr/bin/env python3
"""Builds the documentation as a site that needs no network and no server: build/site/index.html.

    packaging/site/build.py [--output FOLDER] [--pages FOLDER]

The pages are the Markdown files of the repository, where they are: this copies them with their pictures into a folder of the same
structure (collect.py), adds a page for each source file that they link to, and calls mkdocs. A warning of mkdocs is an error.
"""
import argparse
import logging
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "scripts")]
import collect  # noqa: E402

LISTED = ("docs/", "doctor/docs/")  # every page of these folders has its line in nav.yml


def fail(message):
    sys.exit(f"site: {message}")


def decisions(pages):
    found = [page for page in pages if page.startswith("docs/decisions/")]
    return ["docs/decisions/README.md", *sorted(page for page in found if not page.endswith("README.md"))]


def sources(pages, named):
    """The folders of the sources, by their path."""
    return [{page.removesuffix("/README.md"): page} for page in pages if page.endswith("/README.md") and page not in named]


def names_in(nav):
    """The pages that a part of nav.yml names."""
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in names_in(part)]


def without_missing(nav, pages):
    """Returns the nav without those of its pages "NAME.md?" that do not exist yet: a command writes them."""
    if isinstance(nav, dict):
        return {title: without_missing(part, pages) for title, part in nav.items()}
    if isinstance(nav, list):
        return [without_missing(part, pages) for part in nav if not (isinstance(part, str) and part.endswith("?") and part[:-1] not in pages)]
    return nav.removesuffix("?")


def fill(nav, generated):
    """Returns the nav with the generated parts in place of their names."""
    if isinstance(nav, str):
        return generated.get(nav, nav)
    if isinstance(nav, dict):
        return {title: fill(part, generated) for title, part in nav.items()}
    return [fill(part, generated) for part in nav]


def complete_nav(nav, root, pages):
    nav = without_missing(nav, pages)
    named = names_in(nav)
    listed = decisions(pages)
    for page in pages:
        if page.startswith(LISTED) and page not in named and page not in listed:
            fail(f"{page} is not in packaging/site/nav.yml: add its line")
    for page in named:
        if page.endswith(".md") and page not in pages:
            fail(f"packaging/site/nav.yml names {page}, which does not exist")
    numbered = [listed[0], *({f"{Path(page).name[:4]} {collect.title_of(root, page)[5:]}": page} for page in listed[1:])]
    return fill(nav, {"docs/decisions/": numbered, "sources": sources(pages, {*named, *listed})})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "build/site", help="where the site goes")
    parser.add_argument("--pages", type=Path, default=ROOT / "build/site_pages", help="where the collected pages go")
    asked = parser.parse_args()
    try:
        import yaml
        from mkdocs.commands.build import build
        from mkdocs.config import load_config
        from mkdocs.exceptions import Abort
    except ImportError as error:
        fail(f"{error.name} is not installed: run ./dev setup --doors, and use .docs/bin/python")

    start = time.monotonic()
    folder = asked.pages.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    pages = collect.collect(ROOT, folder)
    shutil.copytree(HERE / "assets", folder / "assets")
    nav = complete_nav(yaml.safe_load((HERE / "nav.yml").read_text(encoding="utf-8")), ROOT, pages)

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    config = load_config(str(HERE / "mkdocs.yml"), docs_dir=str(folder), site_dir=str(asked.output.resolve()), nav=nav, strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)
    except Abort:
        fail("mkdocs has warned about the above")
    (asked.output / "404.html").unlink()  # of a server: its links are relative to a host
    print(f"site: {len(pages)} pages in {asked.output}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
