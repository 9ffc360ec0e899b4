#!/usr/bin/env python3
"""Checks `pellucid fleet report`: its figures are those of DuckDB, its page is whole, and promtool reads its OpenMetrics.

    check_report.py PELLUCID WRITE_MADE_RANKS PROMTOOL [--pictures FOLDER]

Without promtool (of Debian's package prometheus) or a browser these parts are left out, and it says so.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import check_pack
from check_pack import ask, expect, expect_equal, expect_refused, problems, run

CHECK_PAGE = Path(__file__).resolve().parents[1] / "check_page.py"
# Job, day, commit, ranks, events of each, ranks of a host. A step has a kernel for each 30 events, or 11 with hosts, and those of collectives.
JOBS = [("llama 7B", "2026-11-16", "4f2a91", 4, 3_000, 0), ("llama 7B", "2026-11-17", "4f2a91", 4, 3_000, 0),
        ("llama 7B", "2026-11-18", "b7710c", 4, 3_060, 0), ('moe "x"\\', "2026-11-18", "", 12, 2_000, 4)]
KERNELS = {"4f2a91": 101, "b7710c": 103, None: 13}
GAUGES = {"pellucid_job_ranks", "pellucid_step_kernels", "pellucid_step_syncs", "pellucid_device_seconds",
          "pellucid_exposed_communication_ratio", "pellucid_idle_ratio", "pellucid_host_waited_seconds"}
SAMPLE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} (\S+) (\d+)$')


def make(pellucid, make_ranks, folder):
    """Packs all jobs into FOLDER/fleet; the tables of their ranks stay in FOLDER/ranks."""
    for i, (job, date, commit, ranks, events, group) in enumerate(JOBS):
        traces, tables = folder / "traces" / str(i), folder / "ranks" / str(i)
        words = [make_ranks, "json", traces, ranks, events, *([group] if group else [])]
        expect_equal(run(*words)[::2], (0, ""), "write_made_ranks")
        labels = ["--label", f"job={job}", *(["--label", f"commit={commit}"] if commit else [])]
        ran = run(pellucid, "doctor", *sorted(traces.iterdir()), "--ranks", "--parquet", tables, *labels)
        expect_equal(ran[0], 0, ran)
        ran = run(pellucid, "fleet", "pack", tables, folder / "fleet", "--date", date)
        expect_equal((ran[0], ran[2]), (0, ""), f"pack {job}")


def rows_of(report, finding, table):
    return report["findings"][finding]["tables"][table]


def near(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


def check_figures(report, folder):
    found = check_pack.answers(folder / "fleet")
    wanted = [(row["job"], row["commit"], str(row["date"]), row["kernels"], row["syncs"], row["steps"])
              for row in found["kernels and syncs of a step, by commit"]]
    seen = [(row["job"], row["commit"], row["date"], row["kernels"], row["syncs"], row["steps"]) for row in rows_of(report, "commits", "commits")]
    expect_equal(sorted(map(str, seen)), sorted(map(str, wanted)), "kernels and syncs by commit")
    expect_equal({row[1]: row[3] for row in seen}, KERNELS, "kernels of a step as they were made")
    expect_equal([row["more_kernels"] for row in rows_of(report, "commits", "commits") if row["commit"] == "b7710c"], [2], "kernels more")
    expect_equal(report["findings"]["commits"]["sentences"],
                 ["A step of llama 7B has 103 kernels instead of 101 since b7710c, first run on 2026-11-18."], "the commit with more kernels")

    jobs = {(row["date"], row["job"]): row for row in rows_of(report, "device_time", "jobs")}
    expect_equal(sorted(jobs), sorted((date, job) for job, date, *_ in JOBS), "jobs")
    for row in found["exposed communication"]:
        job = jobs[str(row["date"]), row["job"]]
        expect_equal(job["exposed_ns"], row["exposed_ns"], f"exposed communication of {row['job']}")
        expect(near(job["exposed"], float(row["percent_of_device_time"])), "share of exposed communication:", job, row)

    # Idle time by cause, from the gaps of ranks and from the columns of meta.
    by_cause = defaultdict(int)
    for i, (job, date, *_) in enumerate(JOBS):
        gaps = dict(ask(f"SELECT cause, sum(duration_ns)::BIGINT FROM '{folder}/ranks/{i}/*/gaps.parquet' GROUP BY cause"))
        sql = {row["cause"].replace("_", " "): row["idle_ns"] for row in found["idle time by cause"]
               if (str(row["date"]), row["job"]) == (date, job)}
        expect_equal(sql, {cause: ns for cause, ns in gaps.items() if ns}, f"idle time of {job} of {date}")
        expect_equal(jobs[date, job]["idle_ns"], sum(gaps.values()), f"all idle time of {job} of {date}")
        for cause, ns in gaps.items():
            by_cause[cause] += ns
    expect(len(by_cause) >= 3, "few causes:", dict(by_cause))
    expect_equal({row["cause"]: row["idle_ns"] for row in rows_of(report, "idle", "causes")},
                 {cause: ns for cause, ns in by_cause.items() if ns}, "idle time by cause")

    waited = dict(ask(f"SELECT late_host, sum(typical_ns)::BIGINT FROM read_parquet('{folder}/fleet/*/*/meetings.parquet', "
                      "hive_partitioning = true) WHERE NOT is_first GROUP BY late_host"))
    seen = {row["host"]: row["waited_ns"] for row in rows_of(report, "hosts", "hosts")}
    expect_equal(seen, {host: ns for host, ns in waited.items() if ns}, "slow hosts")
    collectives = {row["host"]: row["collectives"] for row in found["slow hosts"]}
    expect_equal({row["host"]: row["collectives"] for row in rows_of(report, "hosts", "hosts")},
                 {host: count for host, count in collectives.items() if waited[host]}, "collectives of slow hosts")
    return found


def check_text(pellucid, folder, report):
    code, out, err = run(pellucid, "fleet", "report", folder / "fleet")
    expect_equal((code, err), (0, ""), "the report as text")
    expect(report["sentence"].split(":")[0] in out and "4 jobs of 3 days" in out and "b7710c" in out, "the text:", out)
    expect(max(map(len, out.splitlines())) <= 100, "a line of the text is too long")


def check_page(html, pictures):
    text = html.read_text(encoding="utf-8")
    expect(not re.search(r'(?:src|href)="(?!#)|url\(|@import', text.split('<script type="application/json"')[0]), "the page requests something")
    expect("<b>" not in text and 'moe "x"' not in text.split('id="data">')[0].replace("&quot;", "'"), "a name became markup")
    done = subprocess.run([sys.executable, CHECK_PAGE, html, *(["--pictures", pictures] if pictures else [])], capture_output=True, text=True)
    if done.returncode == 77:
        print("no browser: the page was not opened")
    else:
        expect(done.returncode == 0, "the page:", done.stdout, done.stderr)


def check_openmetrics(promtool, path, report, found, folder):
    text = path.read_text(encoding="utf-8")
    expect(text.endswith("# EOF\n"), "the end of OpenMetrics is missing")
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        expect(match, "not a sample:", line)
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2]))
        labels = {key: re.sub(r"\\(.)", r"\1", value) for key, value in labels.items()}
        samples[match[1], labels.pop("job"), tuple(labels.values()), int(match[4])] = float(match[3])
    expect_equal({name for name, *_ in samples}, GAUGES, "gauges")
    midnight = {date: ask(f"SELECT epoch('{date}'::DATE)::BIGINT")[0][0] for _, date, *_ in JOBS}
    for row in rows_of(report, "device_time", "jobs"):
        at = midnight[row["date"]]
        expect(near(samples["pellucid_device_seconds", row["job"], (), at], row["device_ns"] * 1e-9), "device time of", row)
        expect(near(100 * samples["pellucid_exposed_communication_ratio", row["job"], (), at], row["exposed"]), "exposed:", row)
        expect_equal(samples["pellucid_job_ranks", row["job"], (), at], row["ranks"], "ranks")
    for job, date, commit, *_ in JOBS:
        expect_equal(samples["pellucid_step_kernels", job, (commit,) if commit else (), midnight[date]], KERNELS[commit or None], "kernels of a step")
    for row in found["idle time by cause"]:
        value = samples["pellucid_idle_ratio", row["job"], (row["cause"].replace("_", " "),), midnight[str(row["date"])]]
        expect(near(100 * value, float(row["percent_of_device_time"])), "idle time:", row, value)

    if not shutil.which(promtool):
        print("promtool, of Debian's package prometheus, was not found: it did not read the OpenMetrics")
        return
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    expect_equal((checked.returncode, checked.stdout, checked.stderr), (0, "", ""), "promtool check metrics")
    blocks_of_prometheus = folder / "blocks"
    (blocks_of_prometheus / "wal").mkdir(parents=True)
    ran = run(promtool, "tsdb", "create-blocks-from", "openmetrics", path, blocks_of_prometheus)
    expect_equal(ran[0], 0, f"promtool tsdb create-blocks-from openmetrics: {ran}")
    code, out, err = run(promtool, "tsdb", "dump", blocks_of_prometheus)
    dumped = sorted((int(line.rsplit(" ", 1)[1]) // 1000, float(line.rsplit(" ", 2)[1])) for line in out.splitlines() if line.startswith("{"))
    expect(code == 0 and len(dumped) == len(samples), "promtool tsdb dump:", code, len(dumped), len(samples), err)
    expect(all(a[0] == b[0] and near(a[1], b[1]) for a, b in zip(dumped, sorted((at, value) for (*_, at), value in samples.items()))),
           "what Prometheus has of it is different")
    broken = subprocess.run([promtool, "check", "metrics"], input=text.replace("_ratio{", "_ratio{{"), capture_output=True, text=True)
    expect(broken.returncode != 0, "promtool takes broken metrics")


def check_older(pellucid, folder):
    """Tables without causes: idle time is unexplained, and the report says why."""
    check_pack.as_version_1(folder / "ranks/0", folder / "ranks_1")
    ran = run(pellucid, "fleet", "pack", folder / "ranks_1", folder / "fleet_1", "--date", "2026-11-16", "--job", "old")
    expect_equal(ran[0], 0, ran)
    report = json.loads(run(pellucid, "fleet", "report", folder / "fleet_1", "--json")[1])
    expect_equal([row["cause"] for row in rows_of(report, "idle", "causes")], ["unexplained"], "causes of older tables")
    expect("older program" in report["findings"]["idle"]["sentences"][-1], "older tables are not mentioned")
    expect("name hosts" in report["findings"]["hosts"]["sentences"][0], "missing hosts are not mentioned")


def check_failures(pellucid, folder):
    (folder / "empty").mkdir()
    expect_refused(run(pellucid, "fleet", "report", folder / "nowhere"), 3, "nowhere cannot be read", "no folder")
    expect_refused(run(pellucid, "fleet", "report", folder / "empty"), 3, "has no folders date=", "a folder without jobs")
    expect_refused(run(pellucid, "fleet", "report", folder / "fleet", "--html", folder / "no/page.html"), 3, "cannot be written", "no place for the page")
    shutil.copytree(folder / "fleet", folder / "broken")
    for table in ("meta", "facts", "syncs", "meetings"):
        path = next((folder / "broken").glob(f"*/*/{table}.parquet"))
        whole = path.read_bytes()
        path.write_bytes(whole[:100])
        expect_refused(run(pellucid, "fleet", "report", folder / "broken"), 3, f"{table}.parquet cannot be read as a table", table)
        path.write_bytes(whole)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3, metavar=("PELLUCID", "WRITE_MADE_RANKS", "PROMTOOL"))
    parser.add_argument("--pictures", type=Path, help="keep pictures of the page here")
    arguments = parser.parse_args()
    pellucid, make_ranks, promtool = arguments.programs
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make(pellucid, make_ranks, folder)
        html, metrics = folder / "fleet.html", folder / "fleet.txt"
        code, out, err = run(pellucid, "fleet", "report", folder / "fleet", "--html", html, "--openmetrics", metrics, "--json")
        expect_equal((code, err), (0, ""), "report")
        report = json.loads(out)
        found = check_figures(report, folder)
        check_text(pellucid, folder, report)
        check_page(html, arguments.pictures)
        check_openmetrics(promtool, metrics, report, found, folder)
        check_older(pellucid, folder)
        check_failures(pellucid, folder)
    for problem in problems:
        print(problem)
    print(f"fleet_report: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
