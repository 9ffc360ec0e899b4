import pytest

from examples import PAGE, differences


@pytest.mark.skipif(not PAGE.is_file(), reason="the package is tested without its documentation")
def test_the_examples_of_the_page_show_what_it_says():
    count, found = differences()
    assert count >= 5
    assert not found
