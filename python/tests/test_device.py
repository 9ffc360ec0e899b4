"""The device "queue": what is queued, what waits, and calls that may not wait."""
import inspect

import pytest

import pellucid as pel
from pellucid import errors


def counted(f):
    """The launches and waits of f."""
    pel.synchronize("queue")
    before = pel.device_stats("queue")
    f()
    after = pel.device_stats("queue")
    return after["launches"] - before["launches"], after["waits"] - before["waits"]


def test_calls_are_queued_and_numbers_are_waited_for():
    x = pel.ones(64, 64, device="queue")
    assert counted(lambda: x @ x + 1) == (2, 0)
    assert counted(lambda: x.sum().item()) == (1, 1)
    assert pel.to_device(x @ x, "cpu").tolist() == [[64.0] * 64] * 64


def test_synchronize_waits_once_and_has_nothing_to_wait_for_on_the_cpu():
    pel.ones(8, device="queue") + 1
    assert counted(lambda: pel.synchronize("queue")) == (0, 1)
    assert counted(lambda: pel.synchronize("cpu")) == (0, 0)
    assert set(pel.device_stats("cpu").values()) == {0}


def test_forbid_sync_names_the_wait_and_both_lines():
    x = pel.ones(8, device="queue")
    with pel.forbid_sync():
        line = inspect.currentframe().f_lineno - 1
        total = x.sum()
        with pytest.raises(errors.SyncError) as raised:
            total.item()
        with pytest.raises(errors.SyncError):
            pel.synchronize("queue")
    error = raised.value
    assert error.code == "E14" and "to read an element" in str(error)
    assert f"ForbidSync at test_device.py:{line}" in str(error) and error.line == f"{__file__}:{line + 4}"
    assert total.item() == 8


def test_forbid_sync_ends_after_an_error_and_may_be_nested_or_a_decorator():
    x = pel.ones(8, device="queue")
    scope = pel.forbid_sync()
    with pytest.raises(KeyError):
        with scope, pel.forbid_sync():
            raise KeyError
    assert x.sum().item() == 8

    @pel.forbid_sync()
    def read():
        return x.sum().item()

    for _ in range(2):
        with pytest.raises(errors.SyncError):
            read()
    assert x.sum().item() == 8


def test_an_unknown_device_is_refused():
    for call in (pel.synchronize, pel.device_stats):
        with pytest.raises(ValueError, match='there is no device "mars"'):
            call("mars")


def test_an_error_of_a_kernel_is_raised_by_the_wait():
    rows = pel.index_select(pel.ones(3, 2, device="queue"), 0, pel.tensor([0, 7], device="queue"))
    line = inspect.currentframe().f_lineno - 1
    with pytest.raises(IndexError, match="index 7 is out of range") as raised:
        pel.synchronize("queue")
    assert rows.shape == (2, 2)
    assert raised.value.op == "index_select" and raised.value.line == f"{__file__}:{line}"
    assert f"noticed at test_device.py:{line + 3}]" in str(raised.value)
    pel.synchronize("queue")  # said once
