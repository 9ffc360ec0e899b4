"""pellucid.doctor: the same answers as the program, as Python objects."""
import errno
import gzip
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import types

import pellucid
import pytest
from made_traces import document, events, write_large_trace, write_trace
from pellucid.__main__ import PROGRAM

REAL = sorted(pathlib.Path(os.environ.get("PELLUCID_TRACES", "nowhere")).glob("**/*.json.gz"))


def run_program(*words):
    ran = subprocess.run([PROGRAM, "doctor", *map(str, words)], capture_output=True)
    return ran.returncode, ran.stdout, ran.stderr.decode()


def page_of_program(folder, *words):
    page = folder / "of_program.html"
    assert run_program(*words, "--html", page)[0] in (0, 5)
    return page.read_bytes()


HINTS = {b"--full shows every finding, --html FILE writes a page with a timeline, --json data.":
         b'.full() is every finding, .save("report.html") writes a page with a timeline, .json() is data.',
         b"more with --full": b"more with .full()"}


def expect_texts_of_program(diagnosis, *words):
    """print() shows what the program prints, with its own hints; full() what --full prints."""
    short = run_program(*words)[1]
    for hint, own in HINTS.items():
        short = short.replace(hint, own)
    assert f"{diagnosis}\n".encode() == short
    assert f"{diagnosis.full()}\n".encode() == run_program(*words, "--full")[1]


@pytest.fixture
def trace(tmp_path):
    return write_trace(tmp_path / "run.json")


def test_text_json_and_page_are_those_of_the_program(trace, tmp_path):
    diagnosis = pellucid.doctor(trace)
    expect_texts_of_program(diagnosis, trace)
    assert diagnosis.json() == json.loads(run_program(trace, "--json")[1])
    assert diagnosis.html().encode() == page_of_program(tmp_path, trace)


@pytest.mark.skipif(not REAL, reason="PELLUCID_TRACES names no folder of real traces")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_traces_have_the_bytes_of_the_program(path, tmp_path):
    diagnosis = pellucid.doctor(path)
    expect_texts_of_program(diagnosis, path)
    assert diagnosis.json() == json.loads(run_program(path, "--json")[1])
    assert diagnosis.save(tmp_path / "own.html").read_bytes() == page_of_program(tmp_path, path)
    assert diagnosis.is_whole == (run_program(path)[0] == 0)


def test_findings_are_objects_with_the_fields_of_the_json(trace):
    diagnosis = pellucid.doctor(trace)
    document = diagnosis.json()
    assert diagnosis.verdict.bound == document["verdict"]["bound"] == "overhead-bound"
    assert diagnosis.verdict.sentence == document["verdict"]["sentence"]
    assert list(diagnosis.findings) == list(document["findings"])
    for key, finding in diagnosis.findings.items():
        assert finding.key == key
        assert vars(finding) == {"key": key, **document["findings"][key]}
    assert diagnosis.totals == document["totals"] and diagnosis.totals["kernels"] == 40
    assert diagnosis.quantities["elementwise"] == 40
    assert diagnosis.traces[0].file == str(trace)
    assert diagnosis.is_whole and diagnosis.unread == []
    with pytest.raises(AttributeError):
        diagnosis.verdict.bound = "compute-bound"


def test_a_path_may_be_a_string_bytes_or_a_path(trace):
    expected = str(pellucid.doctor(trace))
    assert str(pellucid.doctor(str(trace))) == str(pellucid.doctor(os.fsencode(trace))) == expected


def test_a_file_name_need_not_be_utf8(trace):
    odd = os.fsencode(trace.parent) + b"/tr\xe4ce.json"
    os.rename(trace, odd)
    diagnosis = pellucid.doctor(os.fsdecode(odd))
    assert diagnosis.totals["kernels"] == 40
    assert "tr\ufffdce" in diagnosis.traces[0].file and "srcdoc" in diagnosis._repr_html_()


def test_gzip_is_read(tmp_path):
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress(document(events(40)).encode()))
    assert pellucid.doctor(path).totals["kernels"] == 40


def test_several_traces_are_in_traces(tmp_path):
    paths = [write_trace(tmp_path / f"{i}.json", count=10 * i) for i in (1, 2)]
    diagnosis = pellucid.doctor(paths)
    expect_texts_of_program(diagnosis, *paths)
    assert [trace.totals["kernels"] for trace in diagnosis.traces] == [10, 20]
    with pytest.raises(ValueError, match=r"about 2 traces: use \.traces\[0\]\.verdict"):
        diagnosis.verdict
    with pytest.raises(ValueError, match="a page shows one trace"):
        diagnosis.html()
    assert diagnosis._repr_html_().startswith("<pre>")


def test_ranks_are_compared(tmp_path):
    paths = [write_trace(tmp_path / f"rank{i}.json") for i in (0, 1)]
    diagnosis = pellucid.doctor(paths, ranks=True)
    expect_texts_of_program(diagnosis, *paths, "--ranks")
    assert list(diagnosis.findings) == list(diagnosis.json()["together"])
    with pytest.raises(ValueError, match="ranks=True"):
        diagnosis.verdict


def test_before_shows_what_changed(tmp_path):
    before, after = write_trace(tmp_path / "before.json", sync_every=4), write_trace(tmp_path / "after.json")
    diagnosis = pellucid.doctor(after, before=before)
    expect_texts_of_program(diagnosis, after, "--before", before)
    assert diagnosis.html().encode() == page_of_program(tmp_path, after, "--before", before)
    assert "diff" in diagnosis.findings


def test_what_if_predicts(trace):
    questions = ["dispatch=0.5", "kernels=0.5"]
    diagnosis = pellucid.doctor(trace, what_if=questions)
    expect_texts_of_program(diagnosis, trace, "--what-if", questions[0], "--what-if", questions[1])
    assert str(pellucid.doctor(trace, what_if="dispatch=0.5")) == str(pellucid.doctor(trace, what_if=questions[:1]))


def test_expectations_hold_or_do_not(trace):
    diagnosis = pellucid.doctor(trace, expect="kernels <= 5; syncs == 0")
    expect_texts_of_program(diagnosis, trace, "--expect", "kernels <= 5; syncs == 0")
    assert not diagnosis.holds
    assert [each.holds for each in diagnosis.expectations] == [False, True]
    assert diagnosis.expectations[0].seen == "40"
    assert pellucid.doctor(trace, expect="kernels == 40").holds


class Profiled:
    """As torch.profiler.profile is, as far as the doctor is concerned."""

    def __init__(self, count):
        self.count, self.paths = count, []

    def export_chrome_trace(self, path):
        self.paths.append(pathlib.Path(path))
        write_trace(pathlib.Path(path), count=self.count)


def test_a_profile_is_diagnosed_without_a_file():
    profiled, before = Profiled(12), Profiled(10)
    diagnosis = pellucid.doctor(profiled, before=before)
    assert diagnosis.totals["kernels"] == 12 and "diff" in diagnosis.findings
    assert not any(path.exists() for path in profiled.paths + before.paths)
    assert "profile.json" in diagnosis.html()


def test_a_profile_of_pellucid_is_diagnosed_too(tmp_path):
    profile = types.SimpleNamespace(write_trace=lambda path: write_trace(pathlib.Path(path), count=7))
    assert pellucid.doctor([profile]).totals["kernels"] == 7


def test_errors_are_those_that_people_expect(trace, tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        pellucid.doctor(tmp_path / "missing.json")
    assert missing.value.filename == str(tmp_path / "missing.json") and missing.value.errno == errno.ENOENT
    with pytest.raises(FileNotFoundError):
        pellucid.doctor([trace, tmp_path / "missing.json"])
    with pytest.raises(FileNotFoundError):
        pellucid.doctor(trace, before=tmp_path / "missing.json")
    with pytest.raises(IsADirectoryError):
        pellucid.doctor(tmp_path)
    for words, sentence in [({"expect": "kernels == many"}, "kernels == many"), ({"expect": "foo == 1"}, "'foo'"),
                            ({"what_if": "foo=1"}, '"foo" cannot be changed')]:
        with pytest.raises(ValueError, match=sentence) as wrong:
            pellucid.doctor(trace, **words)
        assert isinstance(wrong.value, pellucid.Error) and wrong.value.code == "E04"
        option = {"expect": "--expect", "what_if": "--what-if"}
        said = run_program(trace, *(word for key, value in words.items() for word in (option[key], value)))[2]
        assert str(wrong.value) in said
    for words, sentence in [(([],), "there is none"), ((3,), "not iterable"), (([3],), "not a int")]:
        with pytest.raises((TypeError, ValueError), match=sentence):
            pellucid.doctor(*words)
    with pytest.raises(ValueError, match="two traces or more"):
        pellucid.doctor(trace, ranks=True)
    with pytest.raises(ValueError, match="exactly one other"):
        pellucid.doctor([trace, trace], before=trace)
    with pytest.raises(ValueError, match="no expectations"):
        pellucid.doctor([trace, trace], ranks=True, expect="kernels == 1")


def test_an_unreadable_file_is_a_permission_error(trace, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # a superuser may read everything
    with pytest.raises(PermissionError) as refused:
        pellucid.doctor(trace)
    assert refused.value.filename == str(trace)


def test_a_damaged_trace_is_read_in_part_with_a_warning(trace):
    trace.write_bytes(trace.read_bytes()[:-400])
    with pytest.warns(UserWarning, match="was read in part"):
        diagnosis = pellucid.doctor(trace)
    assert not diagnosis.is_whole and 30 < diagnosis.totals["kernels"] < 40
    expect_texts_of_program(diagnosis, trace)
    with pytest.raises(pellucid.Error, match="at byte") as damaged:
        pellucid.doctor(trace, strict=True)
    assert damaged.value.code == "E12" and str(damaged.value) in run_program(trace, "--strict")[2]


def test_a_file_that_is_not_a_trace_is_an_error(tmp_path):
    path = tmp_path / "words.json"
    path.write_text("hello")
    with pytest.raises(pellucid.Error, match="words.json is not a trace: it looks like text"):
        pellucid.doctor(path)


def test_one_of_several_that_cannot_be_read_is_a_warning(trace, tmp_path):
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(bytes(100_000_000)))
    with pytest.warns(UserWarning, match="bomb.json.gz decompresses to more than"):
        diagnosis = pellucid.doctor([trace, bomb])
    assert len(diagnosis.traces) == 1 and not diagnosis.is_whole
    assert diagnosis.unread[0]["file"] == str(bomb)


def test_repr_is_a_few_lines(trace, tmp_path):
    lines = repr(pellucid.doctor(trace)).splitlines()
    assert lines[0] == '<pellucid.Diagnosis: print() shows the report, save("report.html") writes a page>'
    assert lines[1].startswith("  run.json: overhead-bound. The device is idle")
    many = repr(pellucid.doctor([write_trace(tmp_path / f"{i}.json", count=5) for i in range(9)])).splitlines()
    assert len(many) == 7 and many[-1] == "  and 4 more"


class Screen(io.StringIO):
    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize("where", ["terminal", "notebook", "file"])
def test_progress_is_shown_where_somebody_can_see_it(tmp_path, monkeypatch, where):
    path = write_large_trace(tmp_path / "run.json", 150)
    screen = Screen(where == "terminal")
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(pellucid._doctor, "_QUIET_SECONDS", 0)
    shell = types.SimpleNamespace(kernel=None) if where == "notebook" else None
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    pellucid.doctor(path)
    lines = screen.getvalue().split("\r")
    if where == "file":
        assert lines == [""]
        return
    pattern = r"[█▉▊▋▌▍▎▏ ]{30} run\.json *" if where == "terminal" else r"reading run\.json: \d+% *"
    assert len(lines) > 3 and all(re.fullmatch(pattern, line) for line in lines[1:-2]), lines
    assert lines[0] == "" and lines[-2].isspace() and lines[-1] == ""  # nothing is left of it


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def start_script(script):
    # A shell ignores SIGINT for what it runs in the background, and so would the script.
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


INTERRUPTED = """
import sys, time, pellucid
print("started", flush=True)
try:
    pellucid.doctor(sys.argv[1])
except KeyboardInterrupt:
    print(time.time(), flush=True)
    raise
print("finished")
"""


@pytest.mark.parametrize("kind", ["large", "silent"])
def test_interrupt_ends_the_wait_at_once(tmp_path, kind):
    path = tmp_path / "run.json"
    if kind == "large":
        write_large_trace(path, 250)
    else:
        os.mkfifo(path)  # that nobody writes to
    script = INTERRUPTED.replace("sys.argv[1]", repr(str(path)))
    process = start_script(script)
    assert process.stdout.readline() == "started\n"
    time.sleep(0.2)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    caught = process.stdout.readline()
    out, err = process.communicate(timeout=20)
    ended = time.time()
    assert caught != "finished\n", "the trace is too small for this machine"
    assert "KeyboardInterrupt" in err and process.returncode == -signal.SIGINT and out == ""
    assert float(caught) - sent < 2  # 0.05 on an idle machine
    assert ended - sent < 4


def test_other_threads_run_meanwhile(tmp_path):
    path = tmp_path / "run.json"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(document(events(40))))  # needs the interpreter's lock
    writer.start()
    assert pellucid.doctor(path).totals["kernels"] == 40
    writer.join()
