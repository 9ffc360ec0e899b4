"""How a diagnosis shows itself in a notebook, in a real browser."""
import html.parser
import json
import os
import pathlib
import sys

import pellucid
import pytest
from made_traces import write_trace

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "doctor/tests"))
import browser  # noqa: E402


class Frame(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


@pytest.fixture
def diagnosis(tmp_path):
    return pellucid.doctor(write_trace(tmp_path / "it's <a> \"trace\" & more.json"))


def test_the_frame_holds_the_page_and_cannot_reach_the_notebook(diagnosis):
    [(tag, attributes)] = Frame(diagnosis._repr_html_()).tags
    assert tag == "iframe" and attributes["srcdoc"] == diagnosis.html()
    assert attributes["sandbox"] == "allow-scripts"


def enter_frame(window):
    """Scripts run inside the frame from here on, whose origin is not the notebook's: it is a process of its own."""
    window.session = None
    [frame] = [each for each in window.call("Target.getTargets")["targetInfos"] if each["type"] == "iframe"]
    window.session = window.call("Target.attachToTarget", targetId=frame["targetId"], flatten=True)["sessionId"]
    window.call("Runtime.enable")


# As JupyterLab does it: the representation is put into a cell's output with innerHTML.
NOTEBOOK = """<!DOCTYPE html><html><head><meta charset="utf-8"></head>
<body style="font: 14px sans-serif; margin: 12px"><pre>pellucid.doctor("trace.json")</pre><div id="output"></div>
<script>document.getElementById("output").innerHTML = %s;</script></body></html>"""


def test_a_browser_draws_the_page_inside_a_notebook(diagnosis, tmp_path):
    path = browser.find_browser()
    if path is None:
        pytest.skip("there is no Chromium; PELLUCID_CHROMIUM may name it")
    page = tmp_path / "notebook.html"
    page.write_text(NOTEBOOK % json.dumps(diagnosis._repr_html_()).replace("</", "<\\/"))
    picture = pathlib.Path(os.environ.get("PELLUCID_PICTURES", tmp_path)) / "notebook.png"
    with browser.Browser(path) as window:
        window.resize(1000, 720)
        window.open(page.as_uri())
        window.picture(picture)
        assert window.run("document.querySelector('iframe').contentDocument") is None
        assert window.run("document.querySelector('iframe').getBoundingClientRect().width") > 900
        enter_frame(window)
        assert "The device is idle for" in window.run("document.getElementById('verdict').innerText")
        for view, shown in [("timeline", "canvas"), ("what_if", ".what-if"), ("findings", ".finding")]:
            window.run(f"document.getElementById('tab-{view}').click()")
            window.wait_for(f"document.querySelector('#view-{view} {shown}')?.checkVisibility()")
        assert window.problems == []
