#!/usr/bin/env python3
"""Makes the pictures of explanations in docs/images again, from the pages in docs/explanations."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "doctor/tests"))
import browser  # noqa: E402

MAX_BYTES = 180_000
LAYERS = ("document.querySelectorAll('.box')[17].click();"
          "scrollTo(0, document.querySelector('.frame').getBoundingClientRect().top + scrollY - 60)")
# Name, page, size, theme, and what is done before the picture.
PICTURES = [
    ("explanation", "transformer_block", (1240, 830), "light", ""),
    ("explanation_dark", "smollm2", (1240, 720), "dark", LAYERS),
]

path = browser.find_browser()
if path is None:
    sys.exit("no Chromium: PELLUCID_CHROMIUM names one")
with browser.Browser(path) as page:
    for name, html, (width, height), theme, script in PICTURES:
        page.resize(width, height)
        page.open((ROOT / "docs/explanations" / f"{html}.html").as_uri())
        page.run(f"if (document.documentElement.dataset.theme !== '{theme}') document.getElementById('theme').click()")
        page.run(script)
        picture = ROOT / "docs/images" / f"{name}.png"
        page.picture(picture)
        print(f"{picture.name}: {picture.stat().st_size:,} bytes")
        if picture.stat().st_size > MAX_BYTES or page.problems:
            sys.exit(f"{name}: {page.problems or f'more than {MAX_BYTES:,} bytes'}")
