import logging

import pytest


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item):
    # PyTorch writes a structured trace of each compile to this logger. pytest would format and hold every record of it.
    logging.getLogger("torch.__trace").handlers.clear()
    return (yield)
