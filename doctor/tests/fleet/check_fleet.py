#!/usr/bin/env python3
"""Checks the tables of `pellucid doctor --parquet` against the traces, the report and doctor/docs/fleet.md, with the real DuckDB.

    check_fleet.py PELLUCID WRITE_MADE_RANKS

Made ranks, of which three are late, are read by the program; every SQL block of doctor/docs/fleet.md is run on their tables.
PELLUCID_TRACES names a folder of real traces. PELLUCID_MANY_RANKS=64 makes that many ranks of a million events, which takes
minutes. PELLUCID_FLEET_SIZES=1 prints what real traces take.
"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow.parquet
from check_pack import LARGE, measured

SOURCE = Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```sql\n-- (.*?)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CLICKHOUSE = re.compile(r"^```sql clickhouse\n(.*?)^```", re.MULTILINE | re.DOTALL)
TABLES = {"collectives", "dict_names", "events", "facts", "gaps", "launches", "meta", "syncs"}
MAX_BYTES_PER_EVENT = 6
# A rank of 100 MB, reduced where it runs: its CPU time by that of reading the same file with Python's json in the same run. The goal of
# 1.2 CPU-seconds depends on the machine and its other load, so only runs with PELLUCID_MANY_RANKS are held to it.
MAX_RANK_CPU_TO_JSON, MAX_RANK_CPU_SECONDS, MAX_RANK_MEMORY = 0.6, 1.2, 200_000_000
MAX_SMALL_BYTES_PER_EVENT = 0.8  # without events, launches and gaps, which `fleet pack` leaves out
MAX_MEMORY = 2_000_000_000
KEPT = {"cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset",
        "cuda_sync", "gpu_user_annotation", "overhead", "Trace"}
LATE = [("input", 400_000), ("sync", 300_000), ("kernels", 200_000)]  # as write_made_ranks makes them

VIEWS = {"the tables", "collectives of all ranks on one clock"}  # blocks of the page that ask nothing

problems = []


def expect(holds, *what):
    if not holds:
        problems.append(" ".join(str(word) for word in what))


def expect_equal(seen, wanted, what):
    expect(seen == wanted, f"{what}: {str(seen)[:300]}, expected {str(wanted)[:300]}")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def expect_written(ran, folder, code=(0,)):
    """It ended well, and says on stderr what the tables take."""
    events = sum(duckdb.sql(f"SELECT events FROM '{path}'").fetchall()[0][0] for path in folder.glob("*/meta.parquet"))
    share = f"{bytes_of(folder) / max(1, events):.2f}"
    traces = len(list(folder.iterdir()))
    expect_equal((ran[0] in code, ran[2]),
                 (True, f"{folder}: tables of {traces} traces, {share} bytes for each of {events} events\n"), folder)


def bytes_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rows(cursor):
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def page_answers(folder):
    """What each SQL block of the page says of the tables in FOLDER/run and FOLDER/before."""
    os.chdir(folder)
    database, answers = duckdb.connect(), {}
    for title, sql in BLOCK.findall((SOURCE / "doctor/docs/fleet.md").read_text(encoding="utf-8")):
        answers[title] = rows(database.execute(sql))
    os.chdir(SOURCE)
    return answers


def check_clickhouse(folder, stragglers):
    """The page's block for ClickHouse, whose last statement ranks stragglers."""
    try:
        from chdb import session
    except ImportError:
        print("chdb is not installed (./dev setup --peers): the SQL for ClickHouse was not run")
        return
    os.chdir(folder)
    database = session.Session()
    database.query("CREATE DATABASE page")
    database.query("USE page")
    block = CLICKHOUSE.search((SOURCE / "doctor/docs/fleet.md").read_text(encoding="utf-8"))[1]
    said = [str(database.query(sql, "JSONCompact")) for sql in re.split(r";\n", block) if sql.strip()]
    os.chdir(SOURCE)
    ranking = [tuple(map(int, row)) for row in json.loads(said[-1])["data"]]
    expect_equal(ranking, [(row["rank"], row["waited_ns"], row["collectives"]) for row in stragglers], "ClickHouse's ranking")


def read_trace(path):
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        return json.loads(file.read().decode("utf-8", "replace"), parse_float=Decimal)


def spans(trace):
    """Category, name, begin and duration in nanoseconds of what the doctor keeps."""
    found = Counter()
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in KEPT:
            begin, duration = (int(Decimal(event.get(key, 0)) * 1000) for key in ("ts", "dur"))
            found[event["cat"], event["name"], begin + trace.get("baseTimeNanoseconds", 0), duration] += 1
    return found


def check_tables(folder, trace_path, report):
    """One rank's tables against its trace and against what the doctor says of it."""
    def ask(sql):
        return duckdb.sql(re.sub(r"\{(\w+)\}", rf"read_parquet('{folder}/\1.parquet')", sql)).fetchall()

    what = trace_path.name
    expect_equal({path.name for path in folder.iterdir()}, {name + ".parquet" for name in TABLES}, what)
    for path in folder.iterdir():
        stored = pyarrow.parquet.read_schema(path).metadata or {}
        expect_equal(stored.get(b"pellucid.fleet"), b"2", path)
    trace = read_trace(trace_path)
    wanted = spans(trace)
    old = any(event.get("cat") in ("Operator", "Kernel") for event in trace["traceEvents"])
    if not old:
        seen = Counter({tuple(key): count for *key, count in ask(
            "SELECT category, name, begin_ns + base_ns, duration_ns, count(*) "
            "FROM {events} JOIN {dict_names} USING (name_id), {meta} GROUP BY ALL")})
        expect(seen == wanted, what, "spans differ:", list((seen - wanted).items())[:3], list((wanted - seen).items())[:3])
    totals = report["totals"]
    counts = dict(ask("SELECT category, count(*) FROM {events} GROUP BY category"))
    for key, category in (("kernels", "kernel"), ("memcpy", "gpu_memcpy"), ("memset", "gpu_memset")):
        expect_equal(counts.get(category, 0), totals[key], f"{what}: {category}")
    expect_equal(ask("SELECT count(*) FILTER (NOT is_copy) FROM {syncs}"), [(totals["syncs"],)], f"{what}: syncs")
    activities = totals["kernels"] + totals["memcpy"] + totals["memset"]
    (meta,) = rows(duckdb.sql(f"FROM '{folder}/meta.parquet'"))
    expect_equal((meta["activities"], meta["events"]), (activities, report["read"]["events"]), f"{what}: meta")
    launched = ask("SELECT count(*), count(DISTINCT activity) FROM {launches}")[0]
    expect_equal(launched, (activities - meta["activities_without_launch"],) * 2, f"{what}: launches")
    expect_equal(ask("SELECT count(*), min(event), max(event) FROM {events}")[0],
                 (meta["spans"], 0 if meta["spans"] else None, meta["spans"] - 1 if meta["spans"] else None), f"{what}: numbers")
    expect_equal(ask("SELECT coalesce(sum(activities), 0), coalesce(sum(device_ns), 0), coalesce(sum(exposed_ns), 0) FROM {facts}"),
                 ask("SELECT count(*), coalesce(sum(duration_ns), 0), any_value(exposed_ns) FROM "
                     "(SELECT * FROM {events} WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset')) RIGHT JOIN {meta} ON true")
                 if activities else [(0, 0, 0)], f"{what}: facts")
    expect_equal(ask("SELECT coalesce(sum(duration_ns), 0) FROM {gaps}"), [(meta["device_ns"] - meta["busy_ns"],)],
                 f"{what}: gaps")
    expect_equal(ask("SELECT count(*) FROM {launches} l JOIN {events} c ON c.event = call JOIN {events} w ON w.event = activity "
                     "WHERE delay_ns <> w.begin_ns - c.begin_ns"), [(0,)], f"{what}: delays")
    expect_equal(ask("SELECT count(*) FROM {gaps} g JOIN {events} w ON w.event = next_activity "
                     "WHERE g.begin_ns + g.duration_ns <> w.begin_ns"), [(0,)], f"{what}: ends of gaps")
    expect_equal(ask("SELECT count(*) FROM {collectives} c ANTI JOIN {events} e "
                     "ON c.event = e.event AND c.begin_ns = e.begin_ns AND c.end_ns = e.begin_ns + duration_ns"), [(0,)],
                 f"{what}: collectives")
    return bytes_of(folder), meta["events"]


def check_page(answers, together, ranks):
    """The page's answers against what --ranks says."""
    stragglers = next(f for f in together.values() if "stragglers" in f["tables"])["tables"]["stragglers"]
    columns = ("rank", "waited_ns", "alone_ns", "rank_ns", "collectives")
    wanted = [tuple(row[column] for column in columns) for row in stragglers if row["collectives"]]
    seen = [tuple(row[column] for column in columns) for row in answers["stragglers"]]
    expect(len(wanted) >= 3, "few stragglers:", wanted)
    expect_equal(seen, wanted, "the ranking")
    causes = {}
    for row in answers["causes of lateness"]:  # the largest first
        causes.setdefault(row["rank"], row)
    for row in stragglers[:3]:
        own = causes[row["rank"]]
        expect_equal(own["cause"], row["cause"], f"cause of rank {row['rank']}")
        share = 100 * own["waited_ns"] / row["waited_ns"]
        expect(abs(share - row["cause_share"]) < 0.01, "share of its cause:", share, row["cause_share"])
    expect_equal([row["rank"] for row in stragglers[:3]], [ranks - 1, 1, 2], "who was made late")
    expect_equal([row["cause"] for row in stragglers[:3]], [cause for cause, _ in LATE], "why")
    table = {row["rank"]: row for row in together["ranks"]["tables"]["ranks"]}
    expect_equal({row["rank"]: row["exposed_ns"] for row in answers["exposed communication"]},
                 {rank: row["communication_ns"] for rank, row in table.items()}, "exposed communication")
    clocks = {row["rank"]: row["offset_ns"] for row in answers["clocks"]}
    expect_equal(set(clocks), set(range(ranks)), "clocks")
    for rank, row in table.items():
        off = clocks[rank] - clocks[0] - (row["offset_ns"] - table[0]["offset_ns"])
        expect(abs(off) < 2_000, "clock of rank", rank, "is off by", off)
    for title, found in answers.items():
        expect(found or title in VIEWS, f"{title}: no row")


def check_made(pellucid, make, folder, ranks=8):
    for name, count, events in (("run", ranks, 4_000), ("before", 4, 2_000)):
        code, _, err = run(make, "json", folder / f"{name}_traces", count, events)
        expect_equal((code, err), (0, ""), "write_made_ranks")
    traces = sorted((folder / "run_traces").iterdir())
    ran = run(pellucid, "doctor", *traces, "--ranks", "--json", "--parquet", folder / "run")
    expect_written(ran, folder / "run")
    together = json.loads(ran[1])["together"]
    expect_equal(run(pellucid, "doctor", *traces, "--ranks", "--json")[1], ran[1], "--parquet changes what is said")
    before = run(pellucid, "doctor", *(folder / "before_traces").iterdir(), "--parquet", folder / "before")
    expect_written(before, folder / "before")

    code, out, _ = run(pellucid, "doctor", *traces, "--json", "--parquet", folder / "again")
    expect_equal(run(pellucid, "doctor", *traces, "--json"), (code, out, ""), "several traces at once say something else")
    reports = {trace["file"]: trace for trace in json.loads(out)["traces"]}
    for rank in range(ranks):
        own = folder / "run" / f"rank={rank}"
        for path in own.iterdir():
            expect(path.read_bytes() == (folder / "again" / own.name / path.name).read_bytes(), path, "differs without --ranks")
        trace = folder / "run_traces" / f"rank{rank}.json"
        check_tables(own, trace, reports[str(trace)])

    answers = page_answers(folder)
    check_page(answers, together, ranks)
    check_clickhouse(folder, answers["stragglers"])
    events = [event for trace in traces for event in read_trace(trace)["traceEvents"] if event["cat"] == "kernel"]
    took = Counter()
    for event in events:
        took[event["name"]] += int(event["dur"] * 1000)
    expect_equal({row["name"]: row["device_ns"] for row in answers["kernels by time"]}, dict(took), "kernels by time")
    expect_equal(sum(row["launches"] for row in answers["delays of launches"]), len(events), "launches")
    expect_equal(sum(row["activities"] for row in answers["launches and device time"]), len(events), "activities")


def check_failures(pellucid, folder):
    trace = SOURCE / "tests/inspect/launches.json"
    code, out, err = run(pellucid, "doctor", trace, "--rank", 0, "--parquet", trace)
    expect(code == 3 and not out and "launches.json/rank=0 cannot be created" in err, "a folder that is a file:", code, out, err)
    both = folder / "rank5.json", folder / "rank5_again.json"
    for path in both:
        path.write_bytes(trace.read_bytes())
    code, out, err = run(pellucid, "doctor", *both, "--parquet", folder / "both")
    expect(code == 3 and not out and "are both of rank 5" in err, "two traces of one rank:", code, out, err)
    code, out, err = run(pellucid, "doctor", both[0], folder / "rank6.json", "--parquet", folder / "one")
    expect(code == 5 and out and "rank6.json" in err, "a trace that is not there among others:", code, err)
    expect_equal({path.name for path in (folder / "one").iterdir()}, {"rank=5"}, "the other's tables")
    expect(not list(folder.rglob("*.part")), "unfinished files are left behind")
    check_ranks_overwrite_nothing(pellucid, folder, trace)


def check_ranks_overwrite_nothing(pellucid, folder, trace):
    """Traces that are reduced one by one, as each rank does where it runs."""
    def reduce(name, *options, text=None):
        path = folder / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return run(pellucid, "doctor", path, "--parquet", tables, *options)

    tables, text = folder / "ranks", trace.read_text(encoding="utf-8")
    other = text.replace('"traceEvents": [', '"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "one_more", "pid": 1, "tid": 1, "ts": 1, "dur": 1},')
    expect(other != text, "the other trace is the same")
    code, out, err = reduce("trace.json", text=text)
    expect(code == 3 and not out and "give --rank" in err and not tables.exists(), "a rank that nothing says:", code, err)
    expect_equal(reduce("trace.json", "--rank", 7)[0], 0, "--rank")
    before = {path.name: path.read_bytes() for path in (tables / "rank=7").iterdir()}
    expect_equal(reduce("trace.json", "--rank", 7)[0], 0, "the same trace again")
    for name in ("rank7.json", "trace.json"):  # another name; the same one on another host
        code, out, err = reduce(name, "--rank", 7, text=other)
        expect(code == 3 and not out and "the tables of another trace" in err, "another trace of rank 7:", code, err)
        expect_equal({path.name: path.read_bytes() for path in (tables / "rank=7").iterdir()}, before, "tables that were there")
    (tables / "rank=7/meta.parquet").unlink()
    code, _, err = reduce("trace.json", "--rank", 7)
    expect(code == 3 and "not finished" in err, "tables without meta:", code, err)
    expect_equal(reduce("trace.json", "--rank", 7, "--replace")[0], 0, "--replace")
    expect_equal(reduce("node-7_4242.1694128201549.pt.trace.json", "--rank", 8, text=text)[0], 0, "the handler's name")
    expect_equal(reduce("r3-2025-11-18-9-30.json", text=text)[0], 0, "torchtune's name")
    hosts = duckdb.sql(f"SELECT rank, host FROM read_parquet('{tables}/*/meta.parquet', hive_partitioning = true) ORDER BY rank")
    expect_equal(hosts.fetchall(), [(3, None), (7, None), (8, "node-7")], "ranks and hosts")
    expect_equal(reduce("labels.json", "--rank", 9, "--label", "job=llama 7B", "--label", "commit=4f2a91", "--label", "host=a=b", text=text)[0],
                 0, "--label")
    (meta,) = rows(duckdb.sql(f"SELECT job, host, commit FROM '{tables}/rank=9/meta.parquet'"))
    expect_equal(meta, {"job": "llama 7B", "host": "a=b", "commit": "4f2a91"}, "labels")
    for label in ("job", "job=", "user=me", "=x"):
        code, out, err = reduce("labels.json", "--rank", 9, "--label", label)
        expect(code == 2 and not out and "expected job=NAME" in err, label, code, err)
    for options, words in ((("--rank", 1), "give --parquet"), (("--replace",), "give --parquet"),
                           (("--label", "job=x"), "give --parquet")):
        code, _, err = run(pellucid, "doctor", trace, *options)
        expect(code == 2 and words in err, options, code, err)


def check_doctor(doctor, pellucid, folder):
    """pellucid-doctor writes the tables that pellucid doctor writes."""
    trace = folder / "run_traces/rank1.json"
    for program, name in (((doctor,), "alone"), ((pellucid, "doctor"), "command")):
        expect_written(run(*program, trace, "--parquet", folder / name), folder / name)
    for path in (folder / "alone/rank=1").iterdir():
        expect(path.read_bytes() == (folder / "command/rank=1" / path.name).read_bytes(), path, "differs from pellucid doctor's")


def check_many(make, folder, ranks, events):
    """So many ranks: size, memory, cores, and the same ranking from SQL."""
    code, out, err = run(make, "parquet", folder / "run", ranks, events)
    expect_equal((code, err), (0, ""), "write_made_ranks")
    told = json.loads(out)
    size = bytes_of(folder / "run") / told["events"]
    cores = told["cpu_seconds"] / told["seconds"]
    os.chdir(folder)
    database, answers = duckdb.connect(), {}
    for title, sql in BLOCK.findall((SOURCE / "doctor/docs/fleet.md").read_text(encoding="utf-8")):
        if title != "two runs":
            answers[title] = rows(database.execute(sql))
    os.chdir(SOURCE)
    wanted = [(row["rank"], row["waited_ns"]) for row in told["stragglers"] if row["waited_ns"]]
    expect_equal([(row["rank"], row["waited_ns"]) for row in answers["stragglers"] if row["waited_ns"]], wanted,
                 f"the ranking of {ranks} ranks")
    expect_equal([(row["rank"], row["cause"]) for row in told["stragglers"][:3]],
                 list(zip([ranks - 1, 1, 2], [cause for cause, _ in LATE])), "who was made late")
    expect(told["events"] >= ranks * events, "too few events")
    expect(size <= MAX_BYTES_PER_EVENT, f"{size:.2f} bytes an event")
    expect(told["peak_bytes"] <= MAX_MEMORY, told["peak_bytes"], "bytes of memory")
    print(f"{ranks} ranks, {told['events'] / 1e6:.2f} M events: {told['seconds']:.1f} s on {cores:.2f} of {told['cores']} cores, "
          f"at most {told['peak_bytes'] / 1e6:.0f} MB, {size:.2f} bytes an event")
    return cores / told["cores"]


def check_real(pellucid, folder):
    traces = Path(os.environ.get("PELLUCID_TRACES", ""))
    if "PELLUCID_TRACES" not in os.environ or not traces.is_dir():
        print("PELLUCID_TRACES names no folder: no real trace was read")
        return
    for path in sorted(traces.rglob("*.json.gz")):
        out = folder / path.name
        ran = run(pellucid, "doctor", path, "--json", "--parquet", out)
        if ran[0] == 3 and "give --rank" in ran[2]:
            ran = run(pellucid, "doctor", path, "--json", "--rank", 0, "--parquet", out)
        expect_written(ran, out, (0, 5))
        (own,) = out.iterdir()
        size, events = check_tables(own, path, json.loads(ran[1]))
        if "PELLUCID_FLEET_SIZES" in os.environ:
            print(f"{path.name}: {events} events, {size / events:.2f} bytes an event, "
                  f"{path.stat().st_size / events:.2f} as .json.gz")


def check_large(doctor, make, folder):
    """A trace of 100 MB: processor time and memory of reducing it, and what its tables take."""
    expect_equal(run(make, "json", folder / "traces", 4, 372_000)[::2], (0, ""), "write_made_ranks")
    trace, times, json_cpus = folder / "traces/rank1.json", [], []
    for _ in range(3):
        ran, seconds, cpu, peak = measured(lambda: run(doctor, trace, "--parquet", folder / "tables"))
        expect_equal(ran[0], 0, ran[2])
        times.append((cpu, seconds, peak))
        ran, _, cpu, _ = measured(lambda: run(sys.executable, "-c", "import json, sys; json.load(open(sys.argv[1], 'rb'))", trace))
        expect_equal(ran[0], 0, ran[2])
        json_cpus.append(cpu)
    events = duckdb.sql(f"SELECT events FROM '{folder}/tables/rank=1/meta.parquet'").fetchall()[0][0]
    files = {path.stem: path.stat().st_size for path in (folder / "tables/rank=1").iterdir()}
    whole = sum(files.values()) / events
    small = sum(size for name, size in files.items() if name not in LARGE) / events
    cpu, seconds, _ = min(times)
    peak, ratio = min(peak for *_, peak in times), cpu / min(json_cpus)
    print(f"a rank of {trace.stat().st_size / 1e6:.0f} MB, {events} events: {cpu:.2f} CPU-s, {ratio:.2f} of reading it with Python's json, "
          f"{seconds:.2f} s, {peak / 1e6:.0f} MB; {whole:.2f} bytes for each event, {small:.2f} without {', '.join(LARGE)}")
    expect(ratio <= MAX_RANK_CPU_TO_JSON, f"reducing took {ratio:.2f} of the CPU time of Python's json")
    expect("PELLUCID_MANY_RANKS" not in os.environ or cpu <= MAX_RANK_CPU_SECONDS, f"reducing took {cpu:.2f} CPU-s")
    expect(peak <= MAX_RANK_MEMORY, f"reducing took {peak} bytes of memory")
    expect(whole <= MAX_BYTES_PER_EVENT and small <= MAX_SMALL_BYTES_PER_EVENT, f"{whole:.2f} and {small:.2f} bytes for each event")


def main():
    pellucid, doctor, make = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        check_made(pellucid, make, folder)
        check_failures(pellucid, folder)
        check_doctor(doctor, pellucid, folder)
        check_real(pellucid, folder / "real")
        check_many(make, folder / "many", 4, 30_000)
        check_large(doctor, make, folder / "large")
    if many := os.environ.get("PELLUCID_MANY_RANKS"):
        with tempfile.TemporaryDirectory() as folder:
            share = check_many(make, Path(folder), int(many), 1_000_000)
            expect(share >= 0.8, f"{100 * share:.0f} % of the cores were used")
    for problem in problems:
        print(problem)
    print(f"fleet: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
