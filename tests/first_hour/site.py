#!/usr/bin/env python3
"""The site of the documentation: built, its links checked, then opened from the disk in Chromium: the search finds a page, both
themes have their colours, and nothing is loaded from another host."""
import json
import sys

from door import ROOT, expect, main, run

sys.path[:0] = [str(ROOT / "doctor/tests")]
import browser  # noqa: E402

DOOR = ROOT / "packaging/site"
MAX_BYTES = 30_000_000
# What a stranger may look for, and the page that must be among the first three results.
SEARCHES = {"packed weights": "docs/compile.html", "exit codes": "docs/command-line.html", "GeGLU": "docs/torch.html"}
RESULTS = "[...document.querySelectorAll('.md-search-result__item > a')].map((a) => a.getAttribute('href'))"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def check_search(page, site):
    for words, expected in SEARCHES.items():
        page.open((site / "index.html").as_uri())
        page.click("label[for=__search]")
        page.run("document.querySelector('.md-search__input').focus()")
        page.type(words)
        page.press("End")  # the search listens to keys
        page.wait_for(f"{RESULTS}.length > 0", seconds=60)
        page.settle()
        found = page.run(RESULTS)
        expect(any(expected in address for address in found[:3]), f"the search for {words!r} found {found}, not {expected}")
    print(f"searches: {len(SEARCHES)}")


def check_theme(site, scheme, is_dark):
    """In a browser of its own, because the site remembers the first choice."""
    with browser.Browser(browser.find_browser()) as page:
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for name in ("index.html", "docs/compile.html", "docs/decisions/index.html"):
            page.open((site / name).as_uri())
            colour = page.run(BACKGROUND)
            brightness = sum(int(part) for part in colour.strip("rgb()").split(",")[:3]) / 3
            expect((brightness < 128) == is_dark, f"{name}, {scheme}: the background is {colour}")
        page.resize(360, 740)
        page.settle()
        wide = page.run("document.scrollingElement.scrollWidth - innerWidth")
        expect(wide <= 0, f"{name} is {wide} pixels wider than a window of 360")
        expect(not page.problems, f"{scheme}: the console has {page.problems}")


def check_policy(page, site):
    page.open((site / "index.html").as_uri())
    script = "fetch('https://example.org').then(() => 'loaded', () => 'refused')"
    expect(page.run(script) == "refused" and any("Content Security Policy" in problem for problem in page.problems),
           f"a request to another host was not refused by the policy: {json.dumps(page.problems)}")


def open_door(folder):
    python = ROOT / ".docs/bin/python"
    expect(python.is_file(), "mkdocs is missing: run ./dev setup --doors")
    site = folder / "site"
    print(run(sys.executable, DOOR / "check.py", "--build", python, site, cwd=folder))
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    expect(size <= MAX_BYTES, f"the site has {size} bytes; at most {MAX_BYTES} are allowed")
    print(f"{size / 1e6:.1f} MB")
    expect(browser.find_browser(), "chromium is not installed: run ./dev setup --doors")
    with browser.Browser(browser.find_browser()) as page:
        check_search(page, site)
        expect(not page.problems, f"the console has {page.problems}")
        check_policy(page, site)
    check_theme(site, "light", is_dark=False)
    check_theme(site, "dark", is_dark=True)


if __name__ == "__main__":
    sys.exit(main(open_door))
