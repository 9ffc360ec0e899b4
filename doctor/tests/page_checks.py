"""Checks that hold for every page of Pellucid in a browser: of how it looks, and of how it is used by the keyboard."""

SIZES = [(1400, 900), (800, 1000)]
BLANK_BYTES = 9_000  # a picture of the bar alone is smaller

# What a look at a view finds wrong: it is wider than the window, something is too small for a finger, or too pale.
LOOK = """(() => {
  const problems = [];
  const shown = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
  const name = (e) => `${e.tagName.toLowerCase()} "${(e.textContent || e.getAttribute('aria-label') || e.id).trim().slice(0, 40)}"`;
  if (document.scrollingElement.scrollWidth > innerWidth)
    problems.push(`is ${document.scrollingElement.scrollWidth} wide in a window of ${innerWidth}`);
  for (const e of document.querySelectorAll('button:not(.link), select, input, .contents a')) {
    const {width, height} = (e.type === 'checkbox' ? e.closest('label') : e).getBoundingClientRect();
    if (shown(e) && (height < 23.5 || width < 23.5)) problems.push(`${name(e)} is ${width} x ${height}`);
  }
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (e) => {
    for (; e !== null; e = e.parentElement) {
      const c = channels(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const pale = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (!shown(e) || e.disabled || e.getAttribute('aria-disabled') === 'true') continue;
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim() !== '')) continue;
    const [x, y] = [light(channels(getComputedStyle(e).color)), light(background(e))].sort();
    const contrast = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    if (contrast < 4.5) pale.add(`${name(e)} has a contrast of ${contrast.toFixed(1)}`);
  }
  return [...problems, ...[...pale].slice(0, 5)];
})()"""

# What Tab must come to: all that can be clicked; of a table, one row.
STOPS = """[...document.querySelectorAll('button, input, select, a[href], [tabindex="0"]')]
  .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0)"""
HAS_OUTLINE = """(() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
})()"""


class Keyboard:
    """Presses keys, and notes what did not happen."""

    def __init__(self, page, problems):
        self.page, self.problems = page, problems

    def press(self, *keys):
        for key in keys:
            self.page.press(key[-1] if key.startswith("Shift+") else key, shift=key.startswith("Shift+"))

    def focus(self, selector):
        self.page.run(f"document.querySelector({selector!r}).focus()")

    def expect(self, what, script):
        if not self.page.run(script):
            self.problems.append(f"keyboard: {what}")

    def changes(self, what, script, *keys):
        before = self.page.run(script)
        self.press(*keys)
        if self.page.run(script) == before:
            self.problems.append(f"keyboard: {' '.join(keys)} did not {what}")


def check_tab_stops(keys, view):
    """Tab reaches all that can be used, each with an outline."""
    page = keys.page
    page.run(f"document.activeElement.blur(); window.stops = {STOPS}; window.reached = new Set()")
    page.run("getSelection().removeAllRanges(); document.querySelector('.brand').tabIndex = -1; "
             "document.querySelector('.brand').focus()")
    pale = None
    for _ in range(page.run("stops.length") + 5):
        page.press("Tab")
        if page.run("document.activeElement === document.body"):
            break
        if not page.run(HAS_OUTLINE):
            pale = pale or page.run("document.activeElement.outerHTML.slice(0, 80)")
        page.run("reached.add(document.activeElement)")
    if pale:
        keys.problems.append(f"keyboard: {view}: no outline around {pale}")
    missed = page.run("stops.filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 80))")
    if missed:
        keys.problems.append(f"keyboard: {view}: Tab does not reach {missed[:3]}")


def check_table(keys, root):
    """Keys of the first table of several rows below `root`."""
    table = f"{root} .table:has(th button):has(tbody tr:nth-child(2))"
    sort = f"document.querySelector('{table} th').getAttribute('aria-sort')"
    keys.focus(f"{table} th button")
    for key, wanted in (("Enter", ("ascending", "descending")), ("Space", ("ascending", "descending")),
                        ("Enter", ("none",))):
        keys.changes("sort a table", sort, key)
        keys.expect(f"aria-sort after {key}", f"{list(wanted)}.includes({sort})")
    keys.focus(f"{table} tbody tr")
    keys.changes("open a row", f"document.querySelectorAll('{table} tr.full').length", "Enter")
    keys.changes("close it", f"document.querySelectorAll('{table} tr.full').length", "Space")
    keys.changes("go to the next row", "[...document.activeElement.parentNode.children].indexOf(document.activeElement)",
                 "ArrowDown")
    keys.expect("one row of a table is in the order of Tab",
                f"document.querySelectorAll('{table} tbody')[0].querySelectorAll('[tabindex=\"0\"]').length === 1")
    if keys.page.run(f"document.querySelector('{root} .table-head input') !== null"):
        keys.focus(f"{root} .table-head input")
        rows = f"document.activeElement.closest('.table').querySelector('tbody').textContent"
        before = keys.page.run(rows)
        keys.page.type("no such text")
        if keys.page.run(rows) == before or "Nothing matches" not in keys.page.run(rows):
            keys.problems.append("keyboard: a filter does nothing")
        theme, view = (keys.page.run(f"document.{what}") for what in ("documentElement.dataset.theme", "body.dataset.view"))
        keys.press("l", "1")
        keys.expect("letters in a filter are not keys of the page",
                    f"document.documentElement.dataset.theme === '{theme}' && "
                    f"document.body.dataset.view === {'undefined' if view is None else repr(view)}")
