"""The examples of docs/torch.md, and of the tutorial's chapters, show what the pages say."""
from pathlib import Path

import pytest

from comparison import BACKEND

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = [DOCS / "torch.md", *sorted((DOCS / "tutorial").glob("[0-9]-*.md"))]


@pytest.mark.skipif(not DOCS.is_dir(), reason="the package is tested without its documentation")
@pytest.mark.skipif(BACKEND != "pellucid", reason="the pages are about the backend pellucid")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_the_page_show_what_it_says(page):
    import torch

    from examples import differences
    import pellucid.torch

    torch._dynamo.reset()
    pellucid.torch.reset_report()
    count, found = differences(page)
    assert count >= 3
    assert not found
