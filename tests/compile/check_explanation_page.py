#!/usr/bin/env python3
"""Opens the page of an explanation in headless Chromium: both themes at two sizes, and what the keyboard does.

    check_explanation_page.py PAGE [--kernels FILE] [--pictures FOLDER]

FILE has a line for each kernel, with what a profile says of it: name, bytes read, bytes written and nanoseconds, with tabs between
them. The page must show these. Without a browser, the exit code is 77; doctor/tests/browser.py says how one is found.
"""
import argparse
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "doctor/tests"))
import browser  # noqa: E402
from page_checks import BLANK_BYTES, LOOK, SIZES, Keyboard, check_table, check_tab_stops  # noqa: E402

# The panel of the selected kernel: its name, and its figures by their labels.
PANEL = """(() => {
  const panel = document.querySelector('.view:not([hidden]) .details');
  const figures = {};
  for (const label of panel.querySelectorAll('dt, .time-bars span:not(.time-bar)'))
    figures[label.textContent] = (label.tagName === 'DT' ? label.nextSibling : label.nextSibling.nextSibling).textContent;
  return {name: panel.querySelector('h2').textContent, figures};
})()"""
# Boxes must not overlap, nor leave the drawing; each has a name, and each arrow leads somewhere.
DRAWING = """(() => {
  const problems = [], drawing = document.querySelector('.view:not([hidden]) .drawing');
  if (drawing === null) return problems;
  const all = drawing.getBoundingClientRect();
  let below = -1;
  for (const part of drawing.querySelectorAll('.box, .chip')) {
    const {left, right, top, bottom, height} = part.getBoundingClientRect();
    if (left < all.left || right > all.right + 1 || top < all.top || bottom > all.bottom + 1 || height < 20)
      problems.push(`${part.textContent.slice(0, 40)} is outside of the drawing`);
  }
  for (const box of drawing.querySelectorAll('.box')) {
    const {top, bottom} = box.getBoundingClientRect();
    if (top < below) problems.push(`${box.textContent.slice(0, 40)} overlaps the one before`);
    below = bottom;
  }
  for (const path of drawing.querySelectorAll('.arrow'))
    if (!/^M[\\d.]/.test(path.getAttribute('d')) || path.getAttribute('d').includes('NaN')) problems.push('an arrow leads nowhere');
  return problems;
})()"""
SELECTED = "[...document.querySelectorAll('.view:not([hidden]) .box')].findIndex((b) => b.getAttribute('aria-pressed') === 'true')"


def check_look(page, address, pictures, stem):
    for theme in ("light", "dark"):
        for width, height in SIZES:
            page.resize(width, height)
            page.open(address)
            page.run(f"if (document.documentElement.dataset.theme !== '{theme}') document.getElementById('theme').click()")
            if page.run("document.querySelector('.failure') !== null || document.querySelector('.finding') === null"):
                page.problems.append("it could not be built")
            picture = pictures / f"{stem}_{width}_{theme}.png"
            page.picture(picture)
            if picture.stat().st_size < BLANK_BYTES:
                page.problems.append(f"{width} x {height}: the picture is blank")
            page.problems += [f"{width} x {height}, {theme}: {found}" for found in page.run(LOOK) + page.run(DRAWING)]


def check_keys(page, address):
    page.open(address)
    keys = Keyboard(page, page.problems)
    boxes = page.run("document.querySelectorAll('.view:not([hidden]) .box').length")
    if boxes > 0:
        check_drawing(keys, boxes)
    keys.changes("change the theme", "document.documentElement.dataset.theme", "l")
    keys.press("?")
    keys.expect("? does not open the list of keys", "document.getElementById('keys').open")
    keys.press("Escape")
    keys.expect("Esc does not close the list of keys", "!document.getElementById('keys').open")
    if page.run("!document.getElementById('tabs').hidden"):
        keys.focus("#tab-graph-0")
        keys.changes("go to the next graph", "[...document.querySelectorAll('.view')].findIndex((v) => !v.hidden)", "ArrowRight")
    if page.run("document.querySelector('.view:not([hidden]) .table tbody tr:nth-child(2)') !== null"):
        check_table(keys, ".view:not([hidden])")
    page.open(address)
    check_tab_stops(keys, "explanation")


def check_drawing(keys, boxes):
    page = keys.page
    keys.focus(".view:not([hidden]) .box[tabindex='0']")
    keys.press("Home")
    keys.expect("Home does not select the first kernel", f"{SELECTED} === 0")
    if boxes > 1:
        keys.changes("select the next kernel", SELECTED, "ArrowDown")
        keys.changes("show it", "document.querySelector('.details h2').parentNode.textContent", "ArrowUp")
    keys.press("End")
    keys.expect("End does not select the last kernel", f"{SELECTED} === {boxes - 1}")
    keys.expect("the selected box has no focus", "document.activeElement.getAttribute('aria-pressed') === 'true'")
    if page.run("document.querySelector('.details .link') !== null"):
        keys.focus(".details .link")
        keys.changes("follow a link of the panel", SELECTED, "Enter")


def check_kernels(page, address, path):
    """Each kernel on the page has the figures of the profile, in the page's own format."""
    page.open(address)
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    count = page.run("[...document.querySelectorAll('.view:not([hidden]) .figures div')]"
                     ".find((d) => d.textContent.includes('kernels')).querySelector('dd').textContent")
    if count.replace(",", "") != str(len(lines)):
        page.problems.append(f"the page says {count} kernels, the profile has {len(lines)}")
    keys = Keyboard(page, page.problems)
    keys.focus(".view:not([hidden]) .box[tabindex='0']")
    keys.press("Home")
    for number, (name, read, written, ns) in enumerate(lines):
        if number > 0:
            keys.press("ArrowDown")
        shown = page.run(PANEL)
        format_ = "[readable({}, 'bytes'), readable({}, 'bytes'), readableNs({})]".format(read, written, ns)
        expected = [name, *page.run(format_)]
        actual = [shown["name"], *(shown["figures"].get(label) for label in ("read", "written", "measured"))]
        if actual != expected:
            page.problems.append(f"kernel {number + 1}: the page shows {json.dumps(actual)}, the profile {json.dumps(expected)}")


parser = argparse.ArgumentParser()
parser.add_argument("page", type=pathlib.Path)
parser.add_argument("--kernels", type=pathlib.Path, help="what a profile says of them")
parser.add_argument("--pictures", type=pathlib.Path, help="keep the pictures here")
arguments = parser.parse_args()

found_browser = browser.find_browser()
if found_browser is None:
    print("no Chromium: install it, or name it in PELLUCID_CHROMIUM")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder, browser.Browser(found_browser) as opened:
    kept = arguments.pictures or pathlib.Path(folder)
    kept.mkdir(parents=True, exist_ok=True)
    uri = arguments.page.resolve().as_uri()
    check_look(opened, uri, kept, arguments.page.stem)
    check_keys(opened, uri)
    if arguments.kernels:
        check_kernels(opened, uri, arguments.kernels)
    found_problems = opened.problems
print("\n".join(found_problems) or "page: fine")
sys.exit(bool(found_problems))
