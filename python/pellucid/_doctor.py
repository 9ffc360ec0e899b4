"""The doctor: what bounds a run, and why, from the trace that a profiler wrote.

    diagnosis = pellucid.doctor("trace.json")
    print(diagnosis)                  # the verdict, and what to do
    print(diagnosis.full())           # every finding
    diagnosis.save("report.html")     # a page with a timeline

This module needs neither the tensor library nor PyTorch.
"""
from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import html
import json
import os
import pathlib
import stat
import sys
import tempfile
import threading
import time
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from . import _tools, errors

Path = typing.Union[str, "os.PathLike[str]", bytes]


class ExportsTrace(typing.Protocol):
    """As torch.profiler.profile."""

    def export_chrome_trace(self, path: str) -> typing.Any: ...


class WritesTrace(typing.Protocol):
    """As pellucid.Profile."""

    def write_trace(self, path: str) -> typing.Any: ...


Trace = typing.Union[Path, ExportsTrace, WritesTrace]

_POLL_SECONDS = 0.05  # how long Ctrl-C may take
_QUIET_SECONDS = 1.0  # progress is shown after
_END_SECONDS = 0.5  # of the process, for reports that nobody waits for; their threads may be in the middle of reading

atexit.register(_tools.end_background_reports, _END_SECONDS)


@dataclass(frozen=True)
class Verdict:
    """What bounds the run."""

    bound: str  # "overhead-bound", "compute-bound", …
    sentence: str  # with its numbers
    reasons: list[str]  # why, and what to do first


@dataclass(frozen=True)
class Finding:
    """The answer to one question about the run. Times are in nanoseconds and end in _ns; None means unknown."""

    key: str
    title: str
    sentences: list[str]  # what it means, and what to do
    facts: dict[str, typing.Any]
    tables: dict[str, list[dict[str, typing.Any]]]  # the most important row first


@dataclass(frozen=True)
class Expectation:
    """A condition of `expect`, and what the trace has."""

    condition: str
    seen: str
    holds: bool


@dataclass(frozen=True)
class TraceDiagnosis:
    """The diagnosis of one trace. The fields are those of the JSON."""

    file: str
    read: dict[str, typing.Any]  # bytes, events, is_whole, and what was skipped
    totals: dict[str, int]
    quantities: dict[str, float]  # kernels by family: what `expect` may name
    verdict: Verdict
    findings: Mapping[str, Finding] = field(repr=False)
    expectations: list[Expectation]


class Diagnosis:
    """What the doctor found.

    `print(diagnosis)` shows the verdict and what to do, `full()` is the whole report, `save("report.html")` writes it as a
    page with a timeline, and a notebook shows that page. `verdict`, `findings`, `totals`, `quantities` and `expectations` are those of the trace; if there are
    several, each is in `traces`.
    """

    def __init__(self, report: _tools.MadeReport) -> None:
        self._report = report
        self._json = json.loads(report.json())
        documents = self._json.get("traces", [self._json])
        self.traces: tuple[TraceDiagnosis, ...] = tuple(map(_trace_of, documents))
        self.together: Mapping[str, Finding] = _findings_of(self._json.get("together", {}))

    @property
    def verdict(self) -> Verdict:
        return self._only("verdict").verdict

    @property
    def findings(self) -> Mapping[str, Finding]:
        """By key, in the order of the report. With `ranks`, those about all ranks together."""
        return self.together or self._only("findings").findings

    @property
    def totals(self) -> dict[str, int]:
        return self._only("totals").totals

    @property
    def quantities(self) -> dict[str, float]:
        return self._only("quantities").quantities

    @property
    def expectations(self) -> list[Expectation]:
        return [expectation for trace in self.traces for expectation in trace.expectations]

    @property
    def holds(self) -> bool:
        """Whether every condition of `expect` holds, for every trace."""
        return all(expectation.holds for expectation in self.expectations)

    @property
    def is_whole(self) -> bool:
        """False if a part of a trace, or one of several traces, could not be read."""
        return not self.unread and all(trace.read["is_whole"] for trace in self.traces)

    @property
    def unread(self) -> list[dict[str, str]]:
        """`file` and `reason` of each of several traces that could not be read."""
        unread: list[dict[str, str]] = self._json.get("unread", [])
        return unread

    def full(self) -> str:
        """The report with every finding, as `pellucid doctor --full` prints it."""
        return _text_of(self._report.full())

    def json(self) -> dict[str, typing.Any]:
        """The document that `pellucid doctor --json` prints."""
        document: dict[str, typing.Any] = json.loads(self._report.json())
        return document

    def html(self) -> str:
        """The page that `pellucid doctor --html` writes: one file, for any browser, without network."""
        return self._page.decode("utf-8", "surrogateescape")

    def save(self, path: Path) -> pathlib.Path:
        """Writes the page."""
        page = self._page
        target = pathlib.Path(os.fsdecode(path))
        target.write_bytes(page)
        return target

    def __str__(self) -> str:
        return _text_of(self._report.text())

    def __repr__(self) -> str:
        if self.together:
            about = [finding.title for finding in self.together.values()]
        else:
            about = [f"{os.path.basename(trace.file)}: {trace.verdict.bound}. {trace.verdict.sentence}"
                     for trace in self.traces]
        about += [f"{os.path.basename(trace['file'])} could not be read" for trace in self.unread]
        lines = about[:5] + [f"and {len(about) - 5} more"] * (len(about) > 5)
        hint = "print() shows the report" + ', save("report.html") writes a page' * self._report.has_page
        return "\n".join([f"<pellucid.Diagnosis: {hint}>", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        if not self._report.has_page:
            return f"<pre>{html.escape(str(self))}</pre>"
        # The frame has no origin: scripts of the page cannot reach the notebook. An attribute in single quotes keeps
        # the many double quotes of the page as they are.
        page = self.html().replace("&", "&amp;").replace("'", "&#39;")
        return (f"<iframe title='Pellucid doctor' sandbox='allow-scripts' srcdoc='{page}' "
                "style='width: 100%; height: 640px; border: 1px solid #8884; border-radius: 6px;'></iframe>")

    @functools.cached_property
    def _page(self) -> bytes:
        if not self._report.has_page:
            raise ValueError(f"a page shows one trace, and this diagnosis is about {len(self._json['traces'])} traces "
                             "or ranks: call doctor() with one of them")
        return _interruptible(self._report.page)

    def _only(self, name: str) -> TraceDiagnosis:
        if len(self.traces) != 1:
            raise ValueError(f"this diagnosis is about {len(self.traces)} traces: use .traces[0].{name}" if self.traces
                             else f"with ranks=True there is no .{name} of single traces: use .findings")
        return self.traces[0]


def doctor(trace: Trace | Iterable[Trace], *, before: Trace | None = None, what_if: str | Iterable[str] | None = None,
           expect: str | None = None, ranks: bool = False, strict: bool = False) -> Diagnosis:
    """Diagnoses what bounds a run, from the trace of a profiler.

    trace: the path of a trace in Chrome's JSON, plain, .gz or .zst, as torch.profiler or Pellucid writes it; or a
        torch.profiler.profile or a pellucid.Profile that has ended; or several of these.
    before: a trace of the same program, to show what changed since.
    what_if: predicts the duration with changes: "dispatch=0.5", "syncs=0; gemm=0.7", "device=H100".
    expect: conditions, "kernels <= 500; step.syncs == 0"; `holds` of the result says whether they hold.
    ranks: the traces are the ranks of one run: finds those that are late.
    strict: raises an Error for a trace that is damaged. Otherwise what can be read is used, with a warning.
    """
    with contextlib.ExitStack() as stack:
        traces = [_path_of(each, stack) for each in _each_of(trace)]
        if not traces:
            raise ValueError("doctor() needs a trace, and there is none in the list")
        if ranks and len(traces) < 2:
            raise ValueError(f"ranks=True compares the ranks of one run: give two traces or more, not {len(traces)}")
        if ranks and expect:
            raise ValueError("with ranks=True there are no expectations: check each rank without it")
        if before is not None and len(traces) != 1:
            raise ValueError(f"before= compares two traces: give exactly one other, not {len(traces)}")
        questions = [what_if] if isinstance(what_if, str) else list(what_if or ())
        background = _tools.start_report(traces, before=b"" if before is None else _path_of(before, stack),
                                         what_if=questions, expect=expect or "", are_ranks=ranks, is_strict=strict)
        diagnosis = Diagnosis(_wait_for(background))
    _warn_of_what_is_missing(diagnosis)
    return diagnosis


def _each_of(trace: typing.Any) -> Iterator[Trace]:
    if isinstance(trace, (str, bytes, os.PathLike)) or _writer_of(trace) is not None:
        yield trace
    else:
        yield from trace


def _writer_of(trace: typing.Any) -> Callable[[str], typing.Any] | None:
    return getattr(trace, "export_chrome_trace", None) or getattr(trace, "write_trace", None)


def _path_of(trace: typing.Any, stack: contextlib.ExitStack) -> bytes:
    writer = _writer_of(trace)
    if writer is not None:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pellucid-"))
        written = os.path.join(folder, "profile.json")
        writer(written)
        return os.fsencode(written)
    if not isinstance(trace, (str, bytes, os.PathLike)):
        raise TypeError("a trace is a path, or a profile that can write it, such as torch.profiler.profile, not "
                        f"a {type(trace).__name__}")
    path = os.fsencode(trace)
    if path != b"-":  # the standard input
        _check_readable(path)
    return path


def _check_readable(path: bytes) -> None:
    name = os.fsdecode(path)
    if stat.S_ISDIR(os.stat(name).st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not os.access(name, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def _wait_for(background: _tools.BackgroundReport) -> _tools.MadeReport:
    progress = _Progress()
    try:
        while not background.wait(_POLL_SECONDS):
            progress.show(*background.progress)
    finally:  # KeyboardInterrupt, too
        background.stop()
        progress.clear()
    if background.problem is not None:
        code, message = background.problem
        raise _error(code, message.decode("utf-8", "backslashreplace"))
    return background.take()


def _error(code: int, message: str) -> errors.Error:
    error = {4: errors.ValueError, 12: errors.FileError}.get(code, errors.Error)(message)
    error.code = f"E{code:02}" if code else None
    return error


def _interruptible(function: Callable[[], bytes]) -> bytes:
    """Calls a function that releases the GIL on another thread: here Ctrl-C works."""
    results: list[bytes] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL_SECONDS)
    return results[0]


class _Progress:
    """A line on stderr while a trace is read, if somebody can see it: a terminal, or a notebook."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._width = 0

    def show(self, what: str, share: float) -> None:
        if not what or time.monotonic() - self._begin < _QUIET_SECONDS:
            return
        if _is_terminal(sys.stderr):
            line = f"{_tools.bar(share, 30):30} {what}"
        elif _is_notebook():
            line = f"reading {what}: {share:.0%}"
        else:
            return
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


def _is_terminal(stream: typing.Any) -> bool:
    return stream is not None and getattr(stream, "isatty", lambda: False)()


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _warn_of_what_is_missing(diagnosis: Diagnosis) -> None:
    for unread in diagnosis.unread:
        warnings.warn(unread["reason"], stacklevel=3)
    for trace in diagnosis.traces:
        if trace.read["is_whole"]:
            continue
        reason = trace.read["skipped"][0]["reason"] if trace.read["skipped"] else "it ends early"
        if trace.read["events"] == 0:
            raise _error(12, f"E12 file: {trace.file} has no events that can be read: {reason}")
        warnings.warn(f"{trace.file} was read in part: {reason}", stacklevel=3)


def _text_of(report: bytes) -> str:
    return report.decode("utf-8", "replace").removesuffix("\n")


def _findings_of(document: dict[str, typing.Any]) -> dict[str, Finding]:
    return {key: Finding(key, **finding) for key, finding in document.items()}


def _trace_of(document: dict[str, typing.Any]) -> TraceDiagnosis:
    return TraceDiagnosis(
        file=document["file"], read=document["read"], totals=document["totals"], quantities=document["quantities"],
        verdict=Verdict(**document["verdict"]), findings=_findings_of(document["findings"]),
        expectations=[Expectation(**each) for each in document.get("expectations", [])])
