#!/usr/bin/env python3
"""Checks `pellucid fleet pack`: packed jobs have the rows of the tables of their ranks, and the ranking of `--ranks`.

    check_pack.py PELLUCID WRITE_MADE_RANKS

PELLUCID_PACK_RANKS=10000 makes that many ranks, packs them, and holds time and memory to the bounds of decision 0048; this takes
ten minutes. PELLUCID_PACK_FOLDER is where they are kept for the next time; without it they are made anew.
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

SOURCE = Path(__file__).resolve().parents[3]
DATE, JOB = "2026-11-17", "llama 7B"
SMALL = {"collectives", "facts", "meetings", "meta", "names", "syncs"}
LARGE = ("events", "launches", "gaps")
NAMES_IN_1 = {"works": "activities", "work": "activity", "next_work": "next_activity", "works_before": "activities_before",
              "works_without_launch": "activities_without_launch"}
# Bounds for 10,000 ranks with 144 collectives each.
MAX_PACK_SECONDS, MAX_PACK_BYTES = 60, 1_000_000_000
MAX_QUERY_SECONDS, MAX_QUERY_BYTES = 2, 300_000_000

problems = []


def expect(holds, *what):
    if not holds:
        problems.append(" ".join(str(word) for word in what)[:2000])


def expect_equal(seen, wanted, what):
    expect(seen == wanted, f"{what}: {str(seen)[:300]}, expected {str(wanted)[:300]}")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def expect_refused(ran, code, words, what):
    expect(ran[0] == code and not ran[1] and words in ran[2], f"{what}:", *ran, f"expected code {code} and {words!r}")


def ask(sql):
    return duckdb.connect().execute(sql).fetchall()


def packed_folder(destination, date=DATE, job="llama%207B"):
    return destination / f"date={date}" / f"job={job}"


def blocks(engine="duckdb"):
    """{title: SQL} of a file of docs/fleet/."""
    text = (SOURCE / f"docs/fleet/{engine}.sql").read_text(encoding="utf-8").split("\n\n", 1)[1]
    parts = [part.split("\n", 1) for part in ("\n" + text).split("\n-- ")[1:]]
    return {title: sql for title, sql in parts}


def answers(destination, titles=None):
    """What the blocks say of a folder, each as rows of {column: value}."""
    database, found = duckdb.connect(), {}
    for title, sql in blocks().items():
        if titles is not None and title not in titles:
            continue
        cursor = database.execute(sql.replace("'fleet/", f"'{destination}/"))
        names = [column[0] for column in cursor.description]
        found[title] = [dict(zip(names, row)) for row in cursor.fetchall()]
    return found


def rows_differ(ranks, job, table, columns=None):
    """How many rows of the tables of ranks are not in the packed one, and the other way round."""
    packed = f"{job}/{'names' if table == 'dict_names' else table}{'_*' if table in LARGE else ''}.parquet"
    if columns is None:
        first = next(job.glob(Path(packed).name))
        columns = ", ".join(name for name in pyarrow.parquet.read_schema(first).names if name not in ("meeting", "arrived_ns"))
    distinct = "DISTINCT " if table == "dict_names" else ""
    one = f"SELECT {distinct}{columns} FROM read_parquet('{ranks}/*/{table}.parquet', hive_partitioning = true)"
    other = f"SELECT {columns} FROM read_parquet('{packed}', hive_partitioning = false)"
    return ask(f"SELECT (SELECT count(*) FROM ({one} EXCEPT ALL {other})), (SELECT count(*) FROM ({other} EXCEPT ALL {one}))")[0]


def as_version_1(source, destination):
    """Writes the tables of ranks as version 1 of the schema has them."""
    for path in source.glob("*/*.parquet"):
        table = pyarrow.parquet.read_table(path, partitioning=None)
        back = {new: old for old, new in NAMES_IN_1.items()}
        table = table.rename_columns([back.get(name, name) for name in table.column_names])
        if path.stem == "meta":
            table = table.drop_columns(["host", "job", "commit", *(name for name in table.column_names if name.startswith("idle_"))]).append_column("place", pyarrow.array([0], pyarrow.int64()))
            table = table.set_column(table.column_names.index("schema_version"), "schema_version", pyarrow.array([1], pyarrow.int64()))
        out = destination / path.parent.name / path.name
        out.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, out)


def check_rows(ranks, job, what):
    for table in ("collectives", "facts", "syncs", "dict_names", *LARGE):
        expect_equal(rows_differ(ranks, job, table), (0, 0), f"{what}: rows of {table}")
    for path in sorted(job.iterdir()):
        schema = pyarrow.parquet.read_schema(path)
        expect_equal((schema.metadata or {}).get(b"pellucid.fleet"), b"2", path)
        if path.stem in ("meetings", "names"):
            continue
        expect_equal(schema.names[0], "rank", f"{path}: the first column")
        column = pyarrow.parquet.read_table(path, columns=["rank"], partitioning=None)["rank"].to_pylist()
        expect(column == sorted(column), path, "is not sorted by rank")


def check_ranking(destination, together, what):
    """Stragglers of packed jobs against those of --ranks, from `meetings` and from arrivals."""
    table = next(f for f in together.values() if "stragglers" in f["tables"])["tables"]["stragglers"]
    wanted = [row for row in table if row["collectives"]]
    expect(len(wanted) >= 3, f"{what}: few stragglers")
    found = answers(destination)
    columns = ("rank", "waited_ns", "alone_ns", "rank_ns", "collectives")
    for title, some in (("ranks that the others wait for", columns), ("ranks that the others wait for, from arrivals", (*columns[:2], columns[4]))):
        expect_equal([tuple(row[column] for column in some) for row in found[title]],
                     [tuple(row[column] for column in some) for row in wanted[:20]], f"{what}: {title}")
    for title, seen in found.items():
        expect(seen or title == "views", f"{what}: {title} has no row")
    return found


def polars_rankings(destination):
    """Stragglers from `meetings` and from arrivals, by Polars."""
    def scan(table):
        return polars.scan_parquet(f"{destination}/*/*/{table}.parquet", hive_schema={"date": polars.Date, "job": polars.String})

    def ranked(rows, *sums):
        told = rows.group_by("date", "job", "late").agg(*(polars.sum(column) for column in sums), polars.len().alias("collectives"))
        return told.sort("typical_ns", "date", "job", "late", descending=[True, False, False, False]).head(20).drop("date", "job").collect().rows()

    column, key = polars.col, ["date", "job", "meeting"]
    arrivals = scan("collectives").filter(column("meeting") != 0).select(*key, "rank", "arrived_ns", "is_first", (column("end_ns") - column("begin_ns")).alias("ran_ns"))
    last = arrivals.group_by(key).agg(column("arrived_ns").max().alias("last_ns"))
    late = (arrivals.join(last, on=key).filter(column("arrived_ns") == column("last_ns")).sort("rank").group_by(key, maintain_order=True)
            .agg(column("rank").first().alias("late"), column("is_first").first().alias("late_is_first"), column("last_ns").first()))
    wait = polars.min_horizontal(polars.max_horizontal(column("last_ns") - column("arrived_ns"), 0), "ran_ns")
    waits = (arrivals.join(late, on=key).filter((column("rank") != column("late")) & ~column("late_is_first"))
             .group_by(*key, "late").agg(wait.sort().get((polars.len() - 1) // 2).alias("typical_ns")))
    return ranked(scan("meetings").filter(~column("is_first")), "typical_ns", "alone_ns", "all_ns"), ranked(waits, "typical_ns")


def check_polars(destination, wanted):
    columns = ("rank", "waited_ns", "alone_ns", "rank_ns", "collectives")
    for seen, some in zip(polars_rankings(destination), (columns, (*columns[:2], columns[4]))):
        expect_equal(seen, [tuple(row[column] for column in some) for row in wanted[:20]], f"Polars, {len(some)} columns")


def check_clickhouse(folder, wanted, name="fleet"):
    """Every block for ClickHouse, in FOLDER/NAME; questions have the rows of DuckDB's."""
    try:
        from chdb import session
    except ImportError:
        print("chdb is not installed (./dev setup --peers): docs/fleet/clickhouse.sql was not run")
        return
    os.chdir(folder)
    database = session.Session()
    database.query("CREATE DATABASE page")
    database.query("USE page")
    for title, sql in blocks("clickhouse").items():
        said = [str(database.query(one.replace("'fleet/", f"'{name}/"), "JSONCompact")) for one in sql.split(";\n") if one.strip()]
        if not said[-1]:
            continue
        rows = [[None if value is None else str(value) for value in row] for row in json.loads(said[-1])["data"]]
        of_duckdb = "kernels and syncs of a step, by commit" if title == "kernels of a step, by commit" else title
        columns = [column["name"] for column in json.loads(said[-1])["meta"]]
        expect_equal(rows, [[None if row[column] is None else str(row[column]) for column in columns] for row in wanted[of_duckdb]],
                     f"ClickHouse: {title}")
    os.chdir(SOURCE)


def check_made(pellucid, make, folder):
    """Ranks that were reduced one by one, packed together."""
    code, _, err = run(make, "json", folder / "traces", 12, 3_000, 4)
    expect_equal((code, err), (0, ""), "write_made_ranks")
    traces = sorted((folder / "traces").iterdir())
    together = json.loads(run(pellucid, "doctor", *traces, "--ranks", "--json", "--parquet", folder / "at_once")[1])["together"]
    for trace in traces:
        ran = run(pellucid, "doctor", trace, "--parquet", folder / "ranks", "--label", f"job={JOB}", "--label", "commit=4f2a91")
        expect_equal(ran[0], 0, f"{trace}: {ran[2]}")
    code, out, err = run(pellucid, "fleet", "pack", folder / "ranks", folder / "fleet", "--date", DATE, "--events", "--json")
    expect_equal((code, err), (0, ""), "pack")
    job = packed_folder(folder / "fleet")
    (told,) = json.loads(out)["jobs"]
    expect_equal({key: told[key] for key in ("job", "date", "folder", "ranks", "bytes")},
                 {"job": JOB, "date": DATE, "folder": str(job), "ranks": 12,
                  "bytes": sum(path.stat().st_size for path in job.iterdir())}, "what it prints")
    expect_equal({path.stem for path in job.iterdir()}, SMALL | {f"{name}_0000" for name in LARGE}, "tables")
    expect_equal([path.name for path in (folder / "fleet").iterdir()], [f"date={DATE}"], "what is left in the folder")
    check_rows(folder / "ranks", job, "pack")
    found = check_ranking(folder / "fleet", together, "pack")
    check_polars(folder / "fleet", [row for row in next(f for f in together.values() if "stragglers" in f["tables"])["tables"]["stragglers"] if row["collectives"]])
    check_clickhouse(folder, found)
    code, _, err = run(pellucid, "fleet", "pack", folder / "ranks", folder / "numbered", "--date", DATE, "--job", "0042")
    expect_equal((code, err), (0, ""), "pack as a job of Slurm")
    numbered = check_ranking(folder / "numbered", together, "a job whose name is a number")
    check_clickhouse(folder, numbered, "numbered")
    expect_equal({row["job"] for row in numbered["exposed communication"]}, {"0042"}, "the job whose name is a number")
    expect_equal({row["commit"] for row in found["kernels and syncs of a step, by commit"]}, {"4f2a91"}, "commits")
    expect_equal({row["job"] for row in found["exposed communication"]}, {JOB}, "the job that DuckDB reads")
    expect_equal({row["host"] for row in found["slow hosts"]}, {"node0", "node1", "node2"}, "hosts")
    clocks = "SELECT rank, clock_offset_ns, clock_origin_ns, clock_drift, clock_spread_ns, clock_group FROM "
    expect_equal(ask(f"{clocks} read_parquet('{folder}/at_once/*/meta.parquet', hive_partitioning = true) ORDER BY rank"),
                 ask(f"{clocks} '{job}/meta.parquet' ORDER BY rank"), "clocks of ranks that were reduced at once")
    columns = "rank, world, source, host, base_ns, events, activities, device_ns"
    expect_equal(rows_differ(folder / "ranks", job, "meta", columns), (0, 0), "rows of meta")

    as_version_1(folder / "ranks", folder / "ranks_1")
    ran = run(pellucid, "fleet", "pack", folder / "ranks_1", folder / "fleet_1", "--date", DATE, "--job", JOB, "--events")
    expect_equal((ran[0], ran[2]), (0, ""), "tables of version 1")
    job_1 = packed_folder(folder / "fleet_1")
    check_rows(folder / "ranks", job_1, "version 1")
    expect_equal(ask(f"SELECT count(*), count(host), min(schema_version) FROM '{job_1}/meta.parquet'"), [(12, 0, 2)], "meta of version 1")

    # The same ranks from two folders, and as the jobs of two sources.
    half = folder / "half"
    for name in ("rank=1", "rank=10"):
        shutil.copytree(folder / "ranks" / name, half / name)
        shutil.rmtree(folder / "ranks" / name)
    ran = run(pellucid, "fleet", "pack", half, folder / "ranks", folder / "fleet_2", "--date", DATE, "--events")
    expect_equal((ran[0], ran[2]), (0, ""), "two sources")
    for path in job.iterdir():
        if path.stem != "names":  # in the order in which ranks have them
            expect(path.read_bytes() == (packed_folder(folder / "fleet_2") / path.name).read_bytes(), path.name, "differs from that of one source")


def check_failures(pellucid, folder):
    ranks, fleet = folder / "half", folder / "refused"
    (folder / "empty").mkdir()
    expect_refused(run(pellucid, "fleet", "pack", folder / "nowhere", fleet), 3, "nowhere cannot be read", "no source")
    expect_refused(run(pellucid, "fleet", "pack", folder / "empty", fleet), 3, "has no folders rank=0", "a source without ranks")
    expect_refused(run(pellucid, "fleet", "pack", ranks, fleet), 3, "give --date", "traces without a date")
    for date in ("17.11.2026", "2026-1-17", "2026-11-17/../.."):
        expect_refused(run(pellucid, "fleet", "pack", ranks, fleet, "--date", date), 2, "is not a date", date)
    expect_refused(run(pellucid, "fleet", "pack", folder / "at_once", fleet, "--date", DATE), 3, "does not say its job", "no job")
    expect_refused(run(pellucid, "fleet", "pack", ranks, ranks, fleet, "--date", DATE), 3, "are both rank 1 of job", "a rank twice")
    expect_refused(run(pellucid, "fleet", "pack", ranks, folder / "fleet", "--date", DATE), 3, "is there already", "a job twice")
    expect(not fleet.exists(), "a refused pack wrote something")

    hard = "a/b=c %'ü"
    ran = run(pellucid, "fleet", "pack", ranks, fleet, "--date", DATE, "--job", hard)
    expect_equal((ran[0], ran[2]), (0, ""), "a job with special characters")
    expect_equal([path.name for path in (fleet / f"date={DATE}").iterdir()], ["job=a%2Fb%3Dc%20%25%27%C3%BC"], "its folder")
    expect_equal(run(pellucid, "fleet", "pack", ranks, fleet, "--date", DATE, "--job", hard, "--replace")[0], 0, "--replace")
    expect_equal(len(list(fleet.rglob("*.parquet"))), len(SMALL), "tables after --replace")

    broken = folder / "broken"
    shutil.copytree(ranks, broken)
    (broken / "rank=1/meta.parquet").unlink()
    code, out, err = run(pellucid, "fleet", "pack", broken, folder / "part", "--date", DATE)
    expect(code == 5 and out and "rank=1 is left out" in err, "a rank that is not finished:", code, out, err)
    shutil.copy(ranks / "rank=1/meta.parquet", broken / "rank=1/meta.parquet")

    def refuse(table, change, words):
        path = broken / "rank=1" / f"{table}.parquet"
        whole = path.read_bytes()
        change(path)
        expect_refused(run(pellucid, "fleet", "pack", broken, folder / "bad", "--date", DATE), 3, words, f"{table}: {words}")
        expect(not list(folder.glob("bad/*")) and not list(folder.glob("bad/.unf*")), f"{table}: {words}: files are left")
        path.write_bytes(whole)

    def rewritten(change):
        return lambda path: pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(path, partitioning=None)), path)

    for table in ("meta", "collectives", "facts", "syncs", "dict_names"):
        name = pyarrow.parquet.read_schema(broken / f"rank=1/{table}.parquet").names[0]
        refuse(table, lambda path: path.write_bytes(path.read_bytes()[:200]), f"{table}.parquet cannot be read as a table")
        refuse(table, lambda path: path.write_bytes(b""), f"{table}.parquet cannot be read as a table")
        if table not in ("facts",):  # its first column may be null
            refuse(table, rewritten(lambda t, name=name: t.drop_columns([name])), f"has no column {name}")
    refuse("facts", lambda path: path.unlink(), "facts.parquet cannot be read as a table")
    refuse("facts", rewritten(lambda t: t.set_column(t.column_names.index("device_ns"), "device_ns", t["device_ns"].cast(pyarrow.string()))),
           "its column device_ns is")
    refuse("meta", rewritten(lambda t: t.set_column(0, "schema_version", pyarrow.array([3], pyarrow.int64()))), "is of version 3")
    refuse("meta", rewritten(lambda t: t.slice(0, 0)), "has no row")


def check_killed(pellucid, folder):
    """A program that is ended while it packs leaves no job."""
    for i in range(6):
        packing = subprocess.Popen([pellucid, "fleet", "pack", folder / "at_once", folder / "killed", "--job", "x", "--date", DATE, "--events"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.03 * i)
        packing.send_signal(signal.SIGKILL)
        packing.wait()
        job = packed_folder(folder / "killed", job="x")
        if job.exists():  # it was faster
            expect_equal({path.stem for path in job.iterdir()}, SMALL | {f"{name}_0000" for name in LARGE}, "tables of a whole job")
            shutil.rmtree(job)
        expect(not list(folder.glob("killed/*/*/*.parquet")), "a job that is not whole")


def measured(function):
    """What a child process returns, its seconds, CPU seconds and peak of memory."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        with os.fdopen(writes, "w") as out:
            begin = time.monotonic()
            result = function()
            used = resource.getrusage(resource.RUSAGE_SELF)
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            json.dump([result, time.monotonic() - begin, used.ru_utime + used.ru_stime + children.ru_utime + children.ru_stime,
                       1024 * max(children.ru_maxrss, own_peak())], out, default=str)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as told:
        result = json.load(told)
    os.waitpid(child, 0)
    return result


def own_peak():
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0])


def child_of_duckdb(destination, title):
    """One block, in a process of its own."""
    text = blocks()
    code = ("import sys, duckdb, json, time, resource; d = duckdb.connect(); t = time.monotonic(); c = time.process_time()\n"
            "for sql in json.load(sys.stdin): r = d.execute(sql).fetchall()\n"
            "peak = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) * 1024\n"
            "print(json.dumps([r, time.monotonic() - t, time.process_time() - c, peak], default=str))")
    sqls = [text[name].replace("'fleet/", f"'{destination}/") for name in ("views", title)]
    done = subprocess.run([sys.executable, "-c", code], input=json.dumps(sqls), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_many(pellucid, make, folder, ranks):
    """So many ranks: time and memory of packing and of questions, and the ranking of --ranks by each engine."""
    told = folder / "told.json"
    if not told.exists():
        code, out, err = run(make, "parquet", folder / "ranks", ranks, 3_000, 8)
        expect_equal((code, err), (0, ""), "write_made_ranks")
        told.write_text(out, encoding="utf-8")
    wanted = [row for row in json.loads(told.read_text(encoding="utf-8"))["stragglers"] if row["collectives"]]
    shutil.rmtree(folder / "fleet", ignore_errors=True)
    ran, seconds, cpu, peak = measured(lambda: run(pellucid, "fleet", "pack", folder / "ranks", folder / "fleet", "--job", "00", "--date", DATE))
    expect_equal((ran[0], ran[2]), (0, ""), "pack")
    print(f"packed {ranks} ranks: {seconds:.1f} s, {cpu:.1f} CPU-s, {peak / 1e6:.0f} MB; {ran[1].strip()}")
    scale = ranks / 10_000
    # Of cores that other programs use, too, the time says less than the processor time.
    expect(min(seconds, cpu) <= max(5, MAX_PACK_SECONDS * scale), f"packing took {seconds:.1f} s, {cpu:.1f} CPU-s")
    expect(peak <= MAX_PACK_BYTES, f"packing took {peak} bytes of memory")
    columns = ("rank", "waited_ns", "alone_ns", "rank_ns", "collectives")
    for title, some in (("ranks that the others wait for", columns), ("ranks that the others wait for, from arrivals", (*columns[:2], columns[4]))):
        rows, seconds, cpu, peak = child_of_duckdb(folder / "fleet", title)
        print(f"{title}: {seconds:.2f} s, {cpu:.2f} CPU-s, {peak / 1e6:.0f} MB")
        seen = [[row[2], *row[4:]] if len(some) == 5 else row[2:] for row in rows]
        expect_equal(seen, [[row[column] for column in some] for row in wanted[:20]], title)
        expect(min(seconds, cpu) <= MAX_QUERY_SECONDS and peak <= MAX_QUERY_BYTES, title, seconds, "s,", peak, "bytes")
    check_polars(folder / "fleet", wanted)
    check_clickhouse(folder, answers(folder / "fleet"))
    first = packed_folder(folder / "fleet", job="00")
    for job in range(1, 20):
        shutil.copytree(first, packed_folder(folder / "fleet", job=f"{job:02}"), copy_function=os.link)
    rows, seconds, cpu, peak = child_of_duckdb(folder / "fleet", "slow hosts")
    print(f"slow hosts of 20 jobs: {seconds:.2f} s, {cpu:.2f} CPU-s, {peak / 1e6:.0f} MB, {rows[0]}")
    expect(min(seconds, cpu) <= MAX_QUERY_SECONDS, "slow hosts of 20 jobs:", seconds, "s")


def main():
    pellucid, make = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        check_made(pellucid, make, folder)
        check_failures(pellucid, folder)
        check_killed(pellucid, folder)
    if many := os.environ.get("PELLUCID_PACK_RANKS"):
        with tempfile.TemporaryDirectory() as folder:
            own = Path(os.environ.get("PELLUCID_PACK_FOLDER", folder))
            own.mkdir(parents=True, exist_ok=True)
            check_many(pellucid, make, own, int(many))
    for problem in problems:
        print(problem)
    print(f"fleet_pack: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
