"""How a diagnosis shows itself in a notebook, in a real browser."""
import html.parser
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


# As JupyterLab does it: the representation is put into a cell's output with innerHTML.
NOTEBOOK = """<!DOCTYPE html><html><head><meta charset="utf-8"></head>
<body style="font: 14px sans-serif; margin: 12px"><pre>pellucid.doctor("trace.json")</pre><div id="output"></div>
<script>document.getElementById("output").innerHTML = %s;</script></body></html>"""


def test_a_browser_draws_the_page_inside_a_notebook(diagnosis, tmp_path):
    path = browser.find_browser()
    if path is None:
        pytest.skip("there is no Chromium; PELLUCID_CHROMIUM may name it")
    import json

    page = tmp_path / "notebook.html"
    text = json.dumps(diagnosis._repr_html_()).replace("</", "<\\/")
    page.write_text(NOTEBOOK % text)
    with browser.Browser(path) as window:
        window.open(page.as_uri(), 1000, 720)
        picture = window.picture()
        assert window.problems == []
    folder = os.environ.get("PELLUCID_PICTURES")
    if folder:
        pathlib.Path(folder, "notebook.png").write_bytes(picture)
