"""python -m pellucid: the program pellucid, from the package."""
import os
import subprocess
import sys

import pellucid
import pytest
from made_traces import write_trace
from pellucid.__main__ import PROGRAM


def run(*words, **more):
    ran = subprocess.run(words, capture_output=True, text=True, **more)
    return ran.returncode, ran.stdout, ran.stderr


def run_module(*words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return run(sys.executable, "-m", "pellucid", *map(str, words), env=environment)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("traces") / "run.json")


NAME = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn"
COMMANDS = {
    "help": (0, ["--help"]),
    "version": (0, ["--version"]),
    "doctor": (0, ["doctor", "TRACE"]),
    "doctor as JSON": (0, ["doctor", "TRACE", "--json"]),
    "an expectation that does not hold": (1, ["doctor", "TRACE", "--expect", "kernels == 5"]),
    "a wrong option": (2, ["doctor", "TRACE", "--expects", "kernels == 5"]),
    "a missing trace": (3, ["doctor", "nowhere.json"]),
    "name": (0, ["name", NAME]),
    "ops": (0, ["ops", "soft"]),
    "explain": (0, ["explain", "matmul", "64", "64", "64"]),
    "completion": (0, ["completion", "bash"]),
    "man": (0, ["man"]),
    "no command": (2, []),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_the_module_is_the_program(what, trace):
    code, words = COMMANDS[what]
    words = [str(trace) if word == "TRACE" else word for word in words]
    ran = run_module(*words)
    assert ran == run(PROGRAM, *words)
    assert ran[0] == code and (ran[1] or code in (2, 3))
    native = os.environ.get("PELLUCID_PROGRAM")  # of a build of the whole tree
    if native:
        assert ran == run(native, *words)


def test_the_version_is_that_of_the_package():
    assert run_module("--version")[1] == f"pellucid {pellucid.__version__}\n"
