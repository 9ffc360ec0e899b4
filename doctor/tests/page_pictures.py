#!/usr/bin/env python3
"""Makes the pictures of the doctor's page in doctor/docs/images again.

    PELLUCID_TRACES=FOLDER page_pictures.py build/release/bin/pellucid-doctor [OUT]

Needs the real traces, and a browser: browser.py says how one is found.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import browser

MAX_BYTES = 150_000
LARGE, MEDIUM, SHORT, SMALL = (1400, 900), (1240, 780), (1240, 640), (800, 1000)
SAM = ["a100_sam_compiled_syncheavy_cudagraph.json.gz"]
LOADERS = ["resnet50_v100_2021_oldschema/num_workers_4.json.gz",
           "--before", "resnet50_v100_2021_oldschema/num_workers_0.json.gz"]
DEVICES = ["mi300x_bertsmall_eager.json.gz", "--before", "h100_bertsmall_eager.json.gz"]
QWEN = ["h100_qwen05b_eager.json.gz"]
TIMELINE = "globalThis.page.timeline"

# Name, trace, view, size, theme, and what is done before the picture.
PICTURES = [
    ("findings", SAM, "findings", MEDIUM, "light", ""),
    ("timeline", SAM, "timeline", LARGE, "light", f"{TIMELINE}.step(1); {TIMELINE}.fit(); {TIMELINE}.zoom(6)"),
    ("timeline_dark", LOADERS, "timeline", SMALL, "dark",
     f"{TIMELINE}.stepToGap(1); {TIMELINE}.stepToGap(1); {TIMELINE}.show(0, 3e8)"),
    ("memory", QWEN, "findings", SHORT, "light", "document.querySelector('.memory-curve').scrollIntoView({block: 'end'})"),
    ("what_if", DEVICES[:1], "what_if", SHORT, "dark", "globalThis.page.whatIf.set({dispatch: 0.5})"),
    ("diff", LOADERS, "diff", SHORT, "light", ""),
    ("diff_kernels", DEVICES, "diff", SHORT, "light",
     "document.getElementById('finding-diff_kernels').scrollIntoView()"),
]

doctor = pathlib.Path(sys.argv[1]).resolve()
out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "doctor/docs/images").resolve()
traces = os.environ.get("PELLUCID_TRACES")
path = browser.find_browser()
if not traces or path is None:
    sys.exit("PELLUCID_TRACES names no folder of traces" if not traces else "no Chromium: PELLUCID_CHROMIUM names one")
out.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory() as folder, browser.Browser(path) as page:
    for name, trace, view, (width, height), theme, script in PICTURES:
        html = pathlib.Path(folder) / f"{name}.html"
        # From the folder of the traces: the page shows their paths as they are given.
        subprocess.run([doctor, *trace, "--html", html], cwd=traces, stdout=subprocess.DEVNULL, check=True)
        page.resize(width, height)
        page.open(f"{html.as_uri()}#{view}")
        page.run(f"if (document.documentElement.dataset.theme !== '{theme}') document.getElementById('theme').click()")
        page.run(script)
        page.picture(out / f"{name}.png")
        size = (out / f"{name}.png").stat().st_size
        print(f"{name}.png: {size:,} bytes")
        if size > MAX_BYTES or page.problems:
            sys.exit(f"{name}: {page.problems or f'more than {MAX_BYTES:,} bytes'}")
