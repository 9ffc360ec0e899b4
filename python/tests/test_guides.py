"""The examples of docs/guides show what the pages say, next to the traces that they name."""
import shutil
from pathlib import Path

import pytest

from examples import differences
from made_traces import rank_document

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/guides").glob("*.md"))


@pytest.mark.skipif(not PAGES, reason="the package is tested without its documentation")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_the_page_show_what_it_says(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60, "a guide is one page"
    if "import torch\n" in text:
        pytest.importorskip("torch")
    shutil.copy(ROOT / "tests/inspect/launches.json", tmp_path / "run.json")
    for rank in range(4):
        (tmp_path / f"rank{rank}.json").write_text(rank_document(rank), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    count, found = differences(page)
    assert count >= 1
    assert not found
