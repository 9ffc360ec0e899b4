"""The profiler: which ops and kernels ran, from which line of Python, and how long.

    with pellucid.Profile() as profile:
        step()
    print(profile.table("line"))
    profile.write_trace("run.json")   # for Perfetto, and for pellucid.doctor
"""
from __future__ import annotations

import functools
import html
import os
import types
import typing
from dataclasses import dataclass

from . import _core

By = typing.Literal["op", "kernel", "line", "module", "wait"]
_MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class ProfileRow:
    """One row of a table. "Own" excludes inner calls that have rows of the same kind."""

    name: str
    calls: int
    total_ns: int
    self_ns: int
    kernels: int  # launched inside
    kernel_ns: int
    own_kernels: int  # and by no inner row
    own_kernel_ns: int
    bytes: int  # of its own kernels
    flops: int
    roof_ns: float  # the minimum for its own kernels on this machine; 0: not known
    before_kernel_ns: int  # from the begin of a call to that of its first kernel, or its launch
    queued: int  # of waits for devices: commands that had not ended when they began


class Profile:
    """Records ops and kernels of all threads inside `with`. One at a time."""

    def __init__(self, *, shapes: bool = True, layers: bool = False, memory: bool = False,
                 max_bytes: int = _MAX_BYTES) -> None:
        """
        shapes: dtypes, sizes and strides of the tensors.
        layers: a span for each dispatch key that an op passes.
        memory: allocations and releases.
        max_bytes: limit of the buffers; when they are full, later events are only counted.
        """
        self._start = functools.partial(_core.start_profile, shapes=shapes, layers=layers, memory=memory, max_bytes=max_bytes)
        self._session: _core.ProfileSession | None = None

    def __enter__(self) -> Profile:
        self._session = None  # the one before ends before the next begins
        self._session = self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self._recorded.stop()

    def rows(self, by: By = "op") -> list[ProfileRow]:
        """The rows of a table, those with the most own time first."""
        return [ProfileRow(**row) for row in self._recorded.rows(by)]

    def table(self, by: By = "op", *, max_rows: int = 30) -> str:
        """A table for a terminal of 100 columns, by op, kernel, line of source, module, or wait for a device."""
        return self._recorded.table(by, max_rows).removesuffix("\n")

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes Chrome's JSON in PyTorch's schema, for Perfetto, pellucid.doctor and other tools."""
        self._recorded.write_trace(os.fspath(path))

    @property
    def duration_ns(self) -> int:
        return self._recorded.duration_ns

    @property
    def event_count(self) -> int:
        return self._recorded.event_count

    @property
    def dropped(self) -> int:
        """Events that came after `max_bytes` was reached."""
        return self._recorded.dropped

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        if self._session is None:
            return "<pellucid.Profile that has not recorded yet: use it in a with statement>"
        return f"<pellucid.Profile of {self.event_count} events in {self.duration_ns / 1e6:.3f} ms>"

    def _repr_html_(self) -> str:
        if self._session is None:
            return f"<pre>{html.escape(repr(self))}</pre>"
        tables = [_html_table(by, self.rows(by)) for by in ("line", "op", "kernel")]
        return f"<p>{html.escape(repr(self)[1:-1])}</p>" + "".join(tables)

    @property
    def _recorded(self) -> _core.ProfileSession:
        if self._session is None:
            raise RuntimeError("the profile has recorded nothing yet: use it in a with statement first")
        return self._session


class Range:
    """A span of the user's in the trace: `with pellucid.Range("ProfilerStep#0"):` marks a step for the doctor."""

    def __init__(self, name: str) -> None:
        self._range = _core.OpenRange(name)

    def __enter__(self) -> Range:
        self._range.enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self._range.exit()


_SHOWN_ROWS = 15


def _html_table(by: str, rows: list[ProfileRow]) -> str:
    cells = [f"<tr><th style='text-align: left'>{by}</th><th>calls</th><th>total</th><th>self</th><th>kernels</th>"
             "<th>in kernels</th></tr>"]
    for row in rows[:_SHOWN_ROWS]:
        numbers = [row.calls, _milliseconds(row.total_ns), _milliseconds(row.self_ns), row.kernels,
                   _milliseconds(row.kernel_ns)]
        cells.append(f"<tr><td style='text-align: left'><code>{html.escape(row.name)}</code></td>"
                     + "".join(f"<td>{number}</td>" for number in numbers) + "</tr>")
    rest = f"<p>and {len(rows) - _SHOWN_ROWS} more</p>" if len(rows) > _SHOWN_ROWS else ""
    return f"<table>{''.join(cells)}</table>{rest}"


def _milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f} ms"
