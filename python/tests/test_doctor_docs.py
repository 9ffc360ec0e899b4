"""The blocks of docs/python-doctor.md run, in their order, and print what the page shows."""
import contextlib
import io
import pathlib
import re
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python-doctor.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_of_the_doctor_is_true(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    for name in ("trace.json", "trace_of_yesterday.json"):
        shutil.copy(ROOT / "tests/inspect/launches.json", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names, output = {}, io.StringIO()
    with contextlib.redirect_stdout(output):
        for language, text in BLOCKS:
            if language == "python":
                exec(compile(text, PAGE.name, "exec"), names)
    assert (tmp_path / "report.html").stat().st_size > 100_000
    shown = [text for language, text in BLOCKS if language == "text"]
    assert shown and all(text in output.getvalue() for text in shown)
    assert names["diagnosis"].verdict.bound == "overhead-bound"
