#!/usr/bin/env python3
"""Opens a page of the doctor in headless Chromium: every view must build at two sizes in both themes, be wide enough
for what it shows, and be of use by the keyboard alone.

    check_page.py PAGE [--pictures FOLDER]

Without a browser, the exit code is 77; browser.py says how one is found.
"""
import argparse
import pathlib
import sys
import tempfile

import browser
from page_checks import BLANK_BYTES, LOOK, SIZES, Keyboard, check_table, check_tab_stops

VIEWS = {"findings": ".finding", "timeline": "canvas", "what_if": ".what-if", "diff": ".diff .finding"}

def check_everywhere(keys, views):
    keys.focus("#tab-findings")
    for view in [*views[1:], views[0]]:
        keys.press("ArrowRight")
        keys.expect(f"→ on a tab does not go to {view}", f"document.body.dataset.view === '{view}'")
        keys.expect(f"{view}: its tab is not said to be selected",
                    "document.activeElement.getAttribute('aria-selected') === 'true'")
    for i, view in enumerate(views):
        keys.press(str(i + 1))
        keys.expect(f"{i + 1} does not go to {view}", f"document.body.dataset.view === '{view}'")
    keys.changes("change the theme", "document.documentElement.dataset.theme", "l")
    keys.focus("#theme")
    keys.changes("change the theme", "document.documentElement.dataset.theme", "Space")
    keys.press("?")
    keys.expect("? does not open the list of keys", "document.getElementById('keys').open")
    keys.press("Escape")
    keys.expect("Esc does not close the list of keys", "!document.getElementById('keys').open")


def check_timeline(keys):
    keys.focus("canvas")
    timeline = "globalThis.page.timeline"
    width, selected = f"{timeline}.to - {timeline}.from", f"JSON.stringify({timeline}.selection)"
    keys.changes("zoom in", width, "w")
    keys.changes("zoom in", width, "+")
    keys.changes("zoom out", width, "s")
    keys.press("w", "w", "w", "Home")
    keys.expect("Home goes to the beginning", f"{timeline}.from === 0")
    keys.changes("move", f"{timeline}.from", "ArrowRight")
    keys.changes("move", f"{timeline}.from", "a")
    keys.press("End")
    keys.expect("End goes to the end", f"Math.abs({timeline}.to - {timeline}.trace.length) < 1")
    keys.press("0")
    keys.expect("0 shows all", f"{width} === {timeline}.trace.length")
    keys.changes("select", selected, ".")
    keys.changes("select the next", selected, ".")
    keys.changes("select the one before", selected, ",")
    keys.expect("the panel tells of the selection", f"!{timeline}.details.textContent.includes('Nothing is selected')")
    keys.changes("go to its launch", selected, "PageUp")
    keys.changes("go back", selected, "PageDown")
    keys.changes("change the row", selected, "j")
    keys.changes("change the row", selected, "k")
    keys.changes("fold", f"{timeline}.folded.size", "c")
    keys.changes("unfold", f"{timeline}.folded.size", "c")
    keys.changes("select a gap", selected, "g")
    keys.expect("G selects a gap", f"{timeline}.selection.isGap")
    keys.changes("fit", width, "f")
    keys.press("Escape")
    keys.expect("Esc selects nothing", f"{timeline}.selection === null")
    keys.press("/")
    keys.expect("/ goes to the search", f"document.activeElement === {timeline}.search")
    keys.page.type("launch")
    keys.changes("select a match", selected, "Enter")
    keys.press("Escape")
    keys.expect("Esc leaves the search", f"document.activeElement === {timeline}.canvas")
    keys.press("n")
    keys.focus(".details .link")
    keys.changes("follow a link of the panel", selected, "Enter")
    keys.expect("the panel keeps the focus", f"document.activeElement === {timeline}.details")


def check_what_if(keys):
    answer = "document.querySelector('.answer').textContent"
    if not keys.page.run("document.querySelector('#knob-dispatch') !== null"):
        return
    for key in ("dispatch", "activities"):
        keys.focus(f"#knob-{key}")
        keys.changes(f"move the slider of {key}", f"document.querySelector('#knob-{key}').value", "ArrowLeft")
    keys.changes("change the answer", answer, *["ArrowRight"] * 10)
    if keys.page.run("document.querySelector('#knob-device:enabled') !== null"):
        theme = "document.documentElement.dataset.theme"
        keys.focus("#knob-device")
        keys.changes("choose a device", answer, "ArrowDown")
        before = keys.page.run(theme)
        keys.press("l")
        keys.expect("letters in a list are not keys of the page", f"{theme} === '{before}'")
    keys.focus(".presets button")
    keys.press("Enter")
    keys.expect("a button puts all back", "document.querySelector('#knob-activities').value === '1'")


def check_diff(keys):
    if not keys.page.run("document.querySelector('.choices') !== null"):
        return
    keys.focus(".choices button:nth-child(2)")
    kind = keys.page.run("document.activeElement.textContent.split(' ')[0]")
    keys.press("Space")
    keys.expect("a kind of change is chosen", "document.activeElement.getAttribute('aria-pressed') === 'true'")
    keys.expect("only that kind is shown",
                "[...document.activeElement.closest('.table').querySelectorAll('tr.row')]"
                f".every((row) => row.cells[0].textContent === '{kind}')")


def check(page, address, pictures, stem):
    problems = page.problems
    page.resize(*SIZES[0])
    page.open(address)
    views = [view for view in VIEWS if page.run(f"!document.getElementById('tab-{view}').hidden")]
    for theme in ("light", "dark"):
        for view in views:
            page.run(f"if (document.documentElement.dataset.theme !== '{theme}') document.getElementById('theme').click();"
                     f"globalThis.page.show('{view}')")
            if page.run(f"document.querySelector('.failure') !== null || !document.querySelector('{VIEWS[view]}')"):
                problems.append(f"{view}: it could not be built")
            for width, height in SIZES:
                page.resize(width, height)
                picture = pictures / f"{stem}_{view}_{width}_{theme}.png"
                page.picture(picture)
                if picture.stat().st_size < BLANK_BYTES:
                    problems.append(f"{view}, {width} x {height}: the picture is blank")
                problems += [f"{view}, {width} x {height}, {theme}: {found}" for found in page.run(LOOK)]
    page.resize(*SIZES[0])
    page.open(address)
    keys = Keyboard(page, problems)
    check_everywhere(keys, views)
    for view in views:
        page.open(f"{address}#{view}")
        check_tab_stops(keys, view)
        if page.run(f"document.querySelector('#view-{view} th button') !== null"):
            check_table(keys, f"#view-{view}")
        {"timeline": check_timeline, "what_if": check_what_if, "diff": check_diff}.get(view, lambda _: None)(keys)
    return problems


parser = argparse.ArgumentParser()
parser.add_argument("page", type=pathlib.Path)
parser.add_argument("--pictures", type=pathlib.Path, help="keep the pictures here")
arguments = parser.parse_args()

found_browser = browser.find_browser()
if found_browser is None:
    print("no Chromium: install it, or name it in PELLUCID_CHROMIUM")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder, browser.Browser(found_browser) as opened:
    kept = arguments.pictures or pathlib.Path(folder)
    kept.mkdir(parents=True, exist_ok=True)
    found_problems = check(opened, arguments.page.resolve().as_uri(), kept, arguments.page.stem)
print("\n".join(found_problems) or "page: fine")
sys.exit(bool(found_problems))
