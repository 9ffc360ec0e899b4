"""The Python blocks of two pages run, in their order; docs/python-doctor.md prints what it shows."""
import contextlib
import io
import pathlib
import re
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(page):
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def run_blocks(page):
    """Returns the names that the page's Python blocks have defined, and what they have printed."""
    names, output = {}, io.StringIO()
    with contextlib.redirect_stdout(output):
        for language, text in blocks_of(page):
            if language == "python":
                exec(compile(text, page, "exec"), names)
    return names, output.getvalue()


def test_the_page_of_the_doctor_is_true(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    for name in ("trace.json", "trace_of_yesterday.json"):
        shutil.copy(ROOT / "tests/inspect/launches.json", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    names, output = run_blocks("docs/python-doctor.md")
    assert (tmp_path / "report.html").stat().st_size > 100_000
    shown = [text for language, text in blocks_of("docs/python-doctor.md") if language == "text"]
    assert shown and all(text in output for text in shown)
    assert names["diagnosis"].verdict.bound == "overhead-bound"


def test_the_page_of_the_profiler_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, output = run_blocks("docs/profiler.md")
    assert (tmp_path / "run.json").exists()
    assert "docs/profiler.md:7" in output
    assert {row.name: row.calls for row in names["profile"].rows()}["gelu"] == 3
