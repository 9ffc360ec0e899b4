"""Exceptions: their classes, codes and lines; threads and signals."""
import inspect
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import pellucid as pel
from pellucid import errors


def here():
    return inspect.currentframe().f_back.f_lineno


def test_a_wrong_shape_is_a_value_error_with_code_op_and_line():
    x = pel.ones(2, 3)
    with pytest.raises(ValueError) as raised:
        line = here() + 1
        pel.matmul(x, x)
    error = raised.value
    assert isinstance(error, pel.Error) and isinstance(error, errors.ShapeError)
    assert error.code == "E01" and error.op.startswith("matmul") and error.line == f"{__file__}:{line}"
    assert str(error).startswith("E01 shape: matmul") and str(error).endswith(f"[called at test_errors.py:{line}]")


@pytest.mark.parametrize("call, builtin, code, op", [
    (lambda: pel.ones(2, 3) + pel.ones(4), ValueError, "E01", "add"),
    (lambda: pel.ones(2, 3).view(5), ValueError, "E01", "view"),
    (lambda: pel.ones(2).bitwise_and(1.5), TypeError, "E02", "bitwise_and"),
    (lambda: pel.ones(2, 3).sum(5), IndexError, "E03", "sum"),
    (lambda: pel.ones(2, 3)[7], IndexError, "E03", "select"),
    (lambda: pel.ones(2).softmax(3), IndexError, "E03", "softmax"),
    (lambda: pel.mse_loss(pel.ones(2), pel.ones(2), reduction="x"), ValueError, "E04", "mse_loss"),
    (lambda: pel.relu("x"), TypeError, "E04", "relu"),
    (lambda: pel.relu(), TypeError, "E04", "relu"),
    (lambda: pel.relu(pel.ones(1), 1, 2), TypeError, "E04", "relu"),
    (lambda: pel.zeros(2**55), MemoryError, "E09", "zeros"),
    (lambda: pel.zeros(2, device="mars"), ValueError, "E04", "zeros"),
    (lambda: pel.zeros(2, dtype="f31"), TypeError, "E04", "zeros"),
    (lambda: pel.ones(2) + pel.ones(2, device="meta"), pel.Error, "E05", "add"),
])
def test_exceptions_are_those_that_people_expect(call, builtin, code, op):
    with pytest.raises(builtin) as raised:
        call()
    error = raised.value
    assert isinstance(error, pel.Error) and error.code == code, error
    assert error.op.startswith(op) and error.line.startswith(__file__ + ":"), (error.op, error.line)


def test_the_line_is_outside_of_the_package():
    x = pel.ones(2, 3)
    with pytest.raises(IndexError) as raised:
        line = here() + 1
        x.size(4)
    assert raised.value.line == f"{__file__}:{line}"


def test_the_memory_limit_is_a_memory_error():
    pel.set_memory_limit(pel.memory_stats()["data_bytes"] + (1 << 20))
    try:
        with pytest.raises(MemoryError, match="E09"):
            pel.zeros(1 << 20)
    finally:
        pel.set_memory_limit(0)


def test_errors_say_what_was_expected():
    with pytest.raises(TypeError, match="argument other: expected a Tensor or a number, got str"):
        pel.add(pel.ones(1), "x")
    with pytest.raises(TypeError, match="argument keepdim: expected a bool, got int"):
        pel.sum(pel.ones(1), 0, 1)
    with pytest.raises(TypeError, match="several values for the argument other"):
        pel.add(pel.ones(1), 2, other=2)
    with pytest.raises(TypeError, match="argument self: expected a Tensor, which is written to, got int"):
        pel.ops.add_(1, pel.ones(1))


def test_other_threads_run_while_a_kernel_does():
    x = pel.randn(1500, 1500)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    for _ in range(4):
        pel.matmul(x, x)
    end = time.perf_counter()
    stop.set()
    thread.join()
    inside = sum(start < t < end for t in ticks)
    assert inside >= 4, f"{inside} ticks in {end - start:.3f} s"


def test_threads_call_ops_at_the_same_time():
    x = pel.ones(300, 300)
    wrong = []

    def work():
        for _ in range(20):
            if (x + x).sum().item() != 180000:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_control_c_ends_a_loop_of_kernels():
    program = ("import pellucid as pel\nx = pel.randn(400, 400)\nprint('ready', flush=True)\n"
               "while True:\n    x = pel.matmul(x, x).tanh()\n")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=os.environ, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert "KeyboardInterrupt" in err and child.returncode != 0
