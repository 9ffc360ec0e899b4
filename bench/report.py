#!/usr/bin/env python3
"""Writes the page of all benchmarks, docs/benchmarks.md with its pictures, from the results of ./dev bench all.

    bench/report.py [RESULTS] [--docs FOLDER]

The page has nothing that the file does not have: the machine with its roofs, the versions of the peers, each ratio with the 95 %
interval of its median, where we are slower, and which benchmarks gave no figures.
"""
import argparse
import importlib.metadata
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import time
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = "pellucid.benchmarks/1"
MEAN = "geometric mean"  # begins the names of rows over several cases
IMAGES = "images/benchmarks"
MAX_ROWS = 40  # of a table's picture and its list; the rest is named as a number
PEERS = {"torch": ".peers", "HolisticTraceAnalysis": ".peers", "transformers": ".peers", "onednn-devel-cpu-gomp": ".engines"}


# What is recorded with the figures.

def output_of(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def versions():
    """Returns the versions of the peers that are installed, as their packages say, and of the compiler."""
    found = {}
    for folder in sorted({*PEERS.values()}):
        paths = [str(path) for path in (ROOT / folder).glob("lib/python*/site-packages")]
        installed = {str(each.metadata["Name"]).lower(): each.version for each in importlib.metadata.distributions(path=paths)}
        found |= {package: installed[package.lower()] for package, home in PEERS.items() if home == folder and package.lower() in installed}
    compiler = output_of("g++", "-dumpfullversion")
    return {**found, **({"g++": compiler} if compiler else {})}


def commit():
    """Returns the commit, and whether files that are measured differ from it. Pages may differ: one of them is written from the figures."""
    changed = output_of("git", "status", "--porcelain", "--", "src", "include", "bench", "cmake", "doctor", "python", "tools", "CMakeLists.txt")
    return (output_of("git", "rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")


def surroundings():
    """Returns a record without figures: when, which commit, the machine and its roofs, the peers."""
    program = ROOT / "build" / "release" / "bin" / "pellucid"
    text = output_of(str(program), "machine", "--json") if program.is_file() else ""
    return {"schema": SCHEMA, "date": time.strftime("%Y-%m-%d"), "commit": commit(),
            "machine": json.loads(text) if text else {}, "versions": versions(), "results": [], "failures": []}


# Figures.

def cases_of(table):
    """Returns (name, ratio, low, high, goal, verdict) of each case that is a ratio."""
    units = table.get("units", {})
    rows = []
    for name, ratio in table["ratios"].items():
        if name.startswith(MEAN) or units.get(name, "ratio") != "ratio":
            continue
        low, high = table.get("intervals", {}).get(name, (ratio, ratio))
        rows.append((name, ratio, low, high, table["goals"].get(name), table["verdicts"].get(name, "no goal")))
    return rows


def mean_of(table):
    ratios = [ratio for _, ratio, *_ in cases_of(table)]
    return statistics.geometric_mean(ratios) if ratios else None


def is_of_ours(table):
    """Not of a table that compares a peer with itself."""
    return not table.get("ours", "").startswith("peer_")


def is_slower(case):
    return case[2] > 1  # the whole interval


def lost(record):
    """Returns (table, case) of those that are slower than the peer or miss their goal, the slowest first."""
    found = [(table, case) for table in record["results"] if is_of_ours(table) for case in cases_of(table)
             if is_slower(case) or case[5] == "missed"]
    return sorted(found, key=lambda each: -each[1][1])


# Text.

def number(value):
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def cell(text):
    return str(text).replace("|", "\\|")


def rows_of(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(map(cell, row))} |" for row in rows)])


def anchor(name):
    return re.sub(r"[^a-z0-9_-]", "", name.lower().replace(" ", "-"))


def case_row(case):
    name, ratio, low, high, goal, verdict = case
    return [name, number(ratio), f"{number(low)} – {number(high)}", "" if goal is None else number(goal), "" if goal is None else verdict]


def machine_text(machine):
    if not machine:
        return "The machine was not described: `build/release/bin/pellucid` was missing."
    levels = rows_of(["memory", "GB/s"], [(level["name"], f"{level['gb_per_s']:.0f}") for level in machine["levels"]])
    peaks = rows_of(["dtype", "GFLOP/s", "by"], [(peak["dtype"], f"{peak['gflop_per_s']:.0f}", peak["by"]) for peak in machine["peaks"]])
    return f"{machine['cpu']}, {machine['threads']} threads. Its roofs, as `pellucid machine` measures them:\n\n{levels}\n\n{peaks}"


def overview(record):
    rows = []
    for table in record["results"]:
        cases = cases_of(table)
        if not cases:
            continue
        verdicts = [case[5] for case in cases if case[4] is not None]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("met", "inconclusive", "missed") if verdict in verdicts)
        ratios = [case[1] for case in cases]
        rows.append([f"[{table['bench']}](#{anchor(table['bench'])})", table.get("peer", "see below"), len(cases), number(mean_of(table)),
                     f"{number(min(ratios))} – {number(max(ratios))}", counts])
    return rows_of(["table", "peer", "cases", "geometric mean", "cases from – to", "goals"], rows)


def losses(record):
    found = lost(record)
    if not found:
        return "In no case is the whole interval above 1, and no goal is missed."
    shown = found[:MAX_ROWS]
    text = rows_of(["case", "table", "ratio", "95 % interval", "goal"],
                   [(case[0], f"[{table['bench']}](#{anchor(table['bench'])})", number(case[1]), f"{number(case[2])} – {number(case[3])}",
                     "" if case[4] is None else f"{number(case[4])}, {case[5]}") for table, case in shown])
    rest = f"\n\nAnd {len(found) - len(shown)} cases with smaller ratios." if len(found) > len(shown) else ""
    total = sum(len(cases_of(table)) for table in record["results"] if is_of_ours(table))
    missed = sum(case[5] == "missed" for _, case in found)
    return (f"In {sum(is_slower(case) for _, case in found)} of {total} cases the whole interval is above 1: there we are slower than the peer. "
            f"{missed} cases miss their goal, which may be below 1.\n\n{text}{rest}")


def section(table):
    lines = [f"### {table['bench']}", "", f"Ours to: {table['peer']}." if table.get("peer") else ""]
    cases = sorted(cases_of(table), key=lambda case: -case[1])
    if len(cases) > 1:
        lines += ["", f"![Ratios of {table['bench']} with their intervals, the slowest first]({IMAGES}/{table['bench']}.svg)"]
    if cases:
        lines += ["", rows_of(["case", "ratio", "95 % interval", "goal", ""], [case_row(case) for case in cases[:MAX_ROWS]])]
    if len(cases) > MAX_ROWS:
        lines += ["", f"And {len(cases) - MAX_ROWS} cases that are faster."]
    others = [(name, f"{table['ratios'][name]:g} {unit}", table["goals"].get(name, ""), table["verdicts"].get(name, ""))
              for name, unit in table.get("units", {}).items() if unit != "ratio" and name in table["ratios"]]
    if others:
        lines += ["", rows_of(["quantity", "median", "goal", ""], others)]
    return "\n".join(lines)


def failures(record):
    if not record["failures"]:
        return ""
    rows = [(failure["benchmark"], ", ".join(failure["tables"]) or "none", failure["reason"]) for failure in record["failures"]]
    return "\n\n## Without figures\n\nThese benchmarks did not end well.\n\n" + rows_of(["benchmark", "tables that are missing", "reason"], rows)


def page(record):
    peers = ", ".join(f"{name} {version}" for name, version in record["versions"].items()) or "not recorded"
    sections = "\n\n".join(section(table) for table in record["results"])
    return f"""# Benchmarks

<!-- Written by ./dev bench all --report from docs/benchmarks.json. Change bench/report.py instead, or measure again. -->

A ratio is our time divided by that of the peer in the same run, the median over pairs of bursts that alternate; below 1 we are faster. The
interval contains the true median with 95 %. [bench/README.md](../bench/README.md) says how this is measured; each table can be repeated:
`./dev bench NAME`. Absolute times are left out, because they are those of one machine.

Measured on {record['date']}, commit {record['commit']}. Peers: {peers}.

{machine_text(record['machine'])}

## All tables

![Each case of each table as a dot over its ratio, with the geometric mean]({IMAGES}/all.svg)

{overview(record)}

## Where we lose

{losses(record)}{failures(record)}

## Each table

{sections}
"""


# Pictures. One grey for lines and text is readable on white and on black.

GREY, OURS, LOST, MISSED = "#7b8087", "#2f81c1", "#c9722b", "#c93c37"
STYLE = f"text{{font:12px system-ui,'DejaVu Sans',sans-serif;fill:{GREY}}}"


class Axis:
    """Ratios on a logarithmic axis, whose ends are powers of two that enclose all of them and 1."""

    def __init__(self, values, left, right):
        logs = [math.log2(value) for value in values if value > 0] or [0]
        self.low, self.high = min(-1, math.floor(min(logs))), max(1, math.ceil(max(logs)))
        self.left, self.right = left, right

    def x(self, ratio):
        share = (math.log2(max(ratio, 2.0**self.low)) - self.low) / (self.high - self.low)
        return round(self.left + share * (self.right - self.left), 1)

    def marks(self, top, bottom):
        step = max(1, math.ceil((self.high - self.low) / 8))
        powers = sorted({0, *(power for power in range(self.low, self.high + 1) if power % step == 0)})
        lines = []
        for power in powers:
            x, label = self.x(2.0**power), f"{2**power}" if power >= 0 else f"1/{2**-power}"
            width = ' stroke-width="1.5"' if power == 0 else ' stroke-dasharray="2 4"'
            lines.append(f'<path d="M{x} {top}V{bottom}" stroke="{GREY}"{width}/><text x="{x}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
        return lines


def picture(title, width, height, lines):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
            f"<title>{escape(title)}</title><style>{STYLE}</style>\n" + "\n".join(lines) + "\n</svg>\n")


def colour(case):
    return MISSED if case[5] == "missed" else LOST if is_slower(case) else OURS


def label(text, y, left):
    shown = text if len(text) <= 34 else text[:33] + "…"
    return f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{escape(shown)}</text>'


def picture_of_table(table):
    """A row for each case: the interval as a bar, the median as a dot, the goal as a tick."""
    cases = sorted(cases_of(table), key=lambda case: -case[1])[:MAX_ROWS]
    left, width, row = 230, 720, 18
    bottom = 8 + row * len(cases)
    axis = Axis([end for case in cases for end in (case[2], case[3], case[4] or 1)], left, width - 20)
    lines = axis.marks(4, bottom)
    for i, case in enumerate(cases):
        y, (name, ratio, low, high, goal, _) = 8 + row * i + row // 2, case
        lines.append(f'{label(name, y, left)}<path d="M{axis.x(low)} {y}H{axis.x(high)}" stroke="{colour(case)}" stroke-width="4" '
                     f'stroke-opacity=".5"/><circle cx="{axis.x(ratio)}" cy="{y}" r="3.5" fill="{colour(case)}"/>')
        if goal is not None:
            lines.append(f'<path d="M{axis.x(goal)} {y - 6}v12" stroke="{GREY}" stroke-width="2"/>')
    return picture(f"{table['bench']}: ratios with their intervals; a tick is the goal", width, bottom + 24, lines)


def picture_of_all(record):
    """A row for each table: a dot for each case, and a bar at the geometric mean."""
    tables = [table for table in record["results"] if cases_of(table)]
    left, width, row = 230, 720, 18
    bottom = 8 + row * len(tables)
    axis = Axis([case[1] for table in tables for case in cases_of(table)], left, width - 20)
    lines = axis.marks(4, bottom)
    for i, table in enumerate(tables):
        y = 8 + row * i + row // 2
        dots = "".join(f'<circle cx="{axis.x(case[1])}" cy="{y}" r="2.5" fill="{colour(case)}" fill-opacity=".6"/>' for case in cases_of(table))
        lines.append(f'{label(table["bench"], y, left)}{dots}<path d="M{axis.x(mean_of(table))} {y - 6}v12" stroke="{OURS}" stroke-width="2.5"/>')
    return picture("All tables: a dot for each case, a bar at the geometric mean", width, bottom + 24, lines)


def write_page(record, docs=ROOT / "docs"):
    """Writes the page, its pictures and the record into a folder of pages. Returns the paths."""
    pictures = {table["bench"]: picture_of_table(table) for table in record["results"] if len(cases_of(table)) > 1}
    pictures["all"] = picture_of_all(record)
    images = docs / IMAGES
    images.mkdir(parents=True, exist_ok=True)
    for path in images.glob("*.svg"):  # of tables that are gone
        path.unlink()
    texts = {docs / "benchmarks.md": page(record), docs / "benchmarks.json": json.dumps(record, indent=1) + "\n",
             **{images / f"{name}.svg": text for name, text in pictures.items()}}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=ROOT / "build" / "benchmarks.json")
    parser.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs", help="where the page goes")
    asked = parser.parse_args(arguments)
    if not asked.results.is_file():
        sys.exit(f"report: {asked.results} does not exist: ./dev bench all writes it")
    record = json.loads(asked.results.read_text(encoding="utf-8"))
    if record.get("schema") != SCHEMA:
        sys.exit(f"report: {asked.results} is not a file of results: its schema is {record.get('schema')!r}, expected {SCHEMA!r}")
    if not record["results"]:
        sys.exit(f"report: {asked.results} has no figures; the page is not written")
    for path in write_page(record, asked.docs):
        print(f"written: {path}")


if __name__ == "__main__":
    main()
