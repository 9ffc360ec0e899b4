"""The examples of docs/torch.md show what the page says."""
from pathlib import Path

import pytest

from comparison import BACKEND

PAGE = Path(__file__).resolve().parents[3] / "docs/torch.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the package is tested without its documentation")
@pytest.mark.skipif(BACKEND != "pellucid", reason="the page is about the backend pellucid")
def test_the_examples_of_the_page_show_what_it_says():
    import torch

    from examples import differences
    import pellucid.torch

    torch._dynamo.reset()
    pellucid.torch.reset_report()
    count, found = differences(PAGE)
    assert count >= 3
    assert not found
