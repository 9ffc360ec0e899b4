#!/usr/bin/env python3
"""Checks `pellucid doctor --parquet s3://…` against the moto server, a process of its own on the loopback interface.

    check_s3.py PELLUCID WRITE_MADE_RANKS

A connection that is cut, and a server or a program that is killed while it writes, leave no table that reads as whole: each object is
one of those that a folder of this machine has, byte by byte, and `meta` is there when all others are.
"""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import polars
import pyarrow.dataset
import pyarrow.fs
from check_pack import expect, expect_equal, expect_refused, problems, run

BUCKET = "fleet"
CUTS, KILLS = 12, 6
NETWORK_SECONDS = 90  # in which a program gives up on a server that is gone: Arrow tries each request for six

os.environ.update(AWS_ACCESS_KEY_ID="test", AWS_SECRET_ACCESS_KEY="test", AWS_EC2_METADATA_DISABLED="true")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Process:
    """One that listens on a port."""

    def __init__(self, *words):
        self.port = free_port()
        self.process = subprocess.Popen([sys.executable, *map(str, words), str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.kill()
        raise SystemExit(f"{words} does not listen")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Server(Process):
    def __init__(self):
        super().__init__("-m", "moto.server", "-H", "127.0.0.1", "-p")
        self.client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{self.port}", region_name="us-east-1")
        self.client.create_bucket(Bucket=BUCKET)

    def objects(self, folder):
        """{rank=3/events.parquet: bytes} of a folder of the bucket."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{folder}/")
        keys = [one["Key"] for page in pages for one in page.get("Contents", [])]
        return {key[len(folder) + 1:]: self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys if not key.endswith("/")}


def uri(port, folder):
    return f"s3://{BUCKET}/{folder}?region=us-east-1&endpoint_override=http://127.0.0.1:{port}"


def forward(to, most, port):
    """Passes connections on, and is killed after so many bytes from the client: what `check_s3.py --forward TO BYTES PORT` runs."""
    left, lock = most, threading.Lock()

    def pass_on(source, sink, counts):
        nonlocal left
        while data := source.recv(4096):
            if counts:
                with lock:
                    data = data[:left]
                    left -= len(data)
            sink.sendall(data)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        sink.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            client, _ = server.accept()
            upstream = socket.create_connection(("127.0.0.1", to))
            threading.Thread(target=pass_on, args=(client, upstream, True), daemon=True).start()
            threading.Thread(target=pass_on, args=(upstream, client, False), daemon=True).start()


def tables_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


def expect_whole(objects, tables, what):
    for name, data in objects.items():
        expect(data == tables.get(name), f"{what}: {name}, {len(data)} bytes, is not the whole table")
    if any(name.endswith("meta.parquet") for name in objects):
        expect_equal(set(objects), set(tables), f"{what}: tables next to meta")


def check_written(pellucid, server, traces, folder):
    """The objects are the files of a folder, byte by byte, and engines read them there."""
    labels = ["--label", "job=llama"]
    local = run(pellucid, "doctor", *traces, "--ranks", "--parquet", folder / "local", *labels)
    remote = run(pellucid, "doctor", *traces, "--ranks", "--parquet", uri(server.port, "all/ranks"), *labels)
    expect_equal((remote[0], remote[1]), (0, local[1]), "tables of several ranks")
    expect_equal(remote[2].split(": ", 1)[1], local[2].split(": ", 1)[1], "what it says on stderr")
    tables = tables_of(folder / "local")
    expect_equal(len(tables), 8 * len(traces), "tables")
    expect(server.objects("all/ranks") == tables, "the objects are not the files of a folder")

    environment = {**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}", "AWS_DEFAULT_REGION": "us-east-1"}
    done = subprocess.run([pellucid, "doctor", traces[0], "--parquet", f"s3://{BUCKET}/one rank%20/", *labels], env=environment, capture_output=True, text=True)
    expect_equal(done.returncode, 0, done.stderr)
    expect_equal({name.split("/")[1] for name in server.objects("one rank%20")}, {name.split("/")[1] for name in tables}, "a folder with special characters")

    want = duckdb_like(folder / "local")
    store = pyarrow.fs.S3FileSystem(endpoint_override=f"127.0.0.1:{server.port}", scheme="http", region="us-east-1")
    paths = [f"{BUCKET}/all/ranks/{name}" for name in tables if name.endswith("facts.parquet")]
    facts = pyarrow.dataset.dataset(paths, filesystem=store).to_table(columns=["device_ns"])
    expect_equal((facts.num_rows, sum(facts["device_ns"].to_pylist())), want, "Arrow's answer from the store")
    options = {"aws_endpoint_url": f"http://127.0.0.1:{server.port}", "aws_region": "us-east-1", "aws_allow_http": "true",
               "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    scan = polars.scan_parquet(f"s3://{BUCKET}/all/ranks/*/facts.parquet", storage_options=options, hive_partitioning=True)
    expect_equal(scan.select(polars.len(), polars.sum("device_ns")).collect().row(0), want, "Polars' answer from the store")
    return tables


def duckdb_like(folder):
    facts = polars.scan_parquet(f"{folder}/*/facts.parquet", hive_partitioning=True)
    return facts.select(polars.len(), polars.sum("device_ns")).collect().row(0)


def check_replacing(pellucid, server, traces):
    to = uri(server.port, "again")

    def reduce(trace, *words):
        return run(pellucid, "doctor", trace, "--rank", 0, "--parquet", to, *words)

    expect_equal(reduce(traces[0])[0], 0, "the first trace")
    before = server.objects("again")
    expect_equal(reduce(traces[0])[0], 0, "the same trace again")
    expect(server.objects("again") == before, "the same trace has other tables")
    expect_refused(reduce(traces[1]), 3, "has the tables of another trace", "another trace")
    expect(server.objects("again") == before, "a refused trace changed something")
    expect_equal(reduce(traces[1], "--replace")[0], 0, "--replace")
    expect(server.objects("again")["rank=0/events.parquet"] != before["rank=0/events.parquet"], "--replace replaced nothing")
    server.client.delete_object(Bucket=BUCKET, Key="again/rank=0/meta.parquet")
    expect_refused(reduce(traces[1]), 3, "has tables that were not finished", "unfinished tables")


def check_refused(pellucid, server, trace, folder):
    for where, code, words in (("gs://fleet/ranks", 2, "or s3://bucket/folder"),
                               *((empty, 2, "or s3://bucket/folder") for empty in ("s3://", "s3:///ranks", "s3://?region=us-east-1")),
                               (uri(server.port, "x").replace("fleet/", "nowhere/"), 3, "bucket does not exist"),
                               (f"s3://{BUCKET}/x?nothing=1", 3, "nothing")):
        expect_refused(run(pellucid, "doctor", trace, "--parquet", where), code, words, where)
    for words in (["pack", "s3://fleet/ranks", folder / "fleet"], ["pack", folder / "local", "s3://fleet/packed"]):
        expect_refused(run(pellucid, "fleet", *words), 2, "is not a folder of this machine", words)


def check_cut(pellucid, server, trace, tables):
    """The server is gone after so many bytes, of which the last cut is near the end."""
    all_bytes = sum(map(len, tables.values())) + 30_000  # and the heads of requests

    def cut(i):
        to = f"cut{i}"
        with Process(__file__, "--forward", server.port, max(1, all_bytes * i // CUTS)) as between:
            begin = time.monotonic()
            ran = run(pellucid, "doctor", trace, "--rank", 0, "--parquet", uri(between.port, to))
            return to, ran, time.monotonic() - begin

    with ThreadPoolExecutor(CUTS) as threads:
        done = list(threads.map(cut, range(CUTS)))
    failures = 0
    for to, ran, seconds in done:
        objects = server.objects(to)
        expect_whole(objects, tables, to)
        if ran[0] == 0:
            expect_equal(set(objects), set(tables), f"{to}: tables of a program that says it is done")
            continue
        failures += 1
        expect(ran[0] == 3 and not ran[1] and re.search(r"cannot be (written|read|removed): .", ran[2]), f"{to}:", *ran)
        expect(seconds < NETWORK_SECONDS, to, "took", seconds, "s")
        expect("rank=0/meta.parquet" not in objects, f"{to}: meta of a rank that is not whole")
    expect(failures >= CUTS * 3 // 4, "only", failures, "connections were cut")
    unfinished = [to for to, *_ in done if server.objects(to) and "rank=0/meta.parquet" not in server.objects(to)]
    expect(unfinished, "no cut came between two tables")
    for to in unfinished[:2]:
        expect_refused(run(pellucid, "doctor", trace, "--rank", 0, "--parquet", uri(server.port, to)), 3, "has tables that were not finished", to)
        expect_equal(run(pellucid, "doctor", trace, "--rank", 0, "--parquet", uri(server.port, to), "--replace")[0], 0, f"{to}: again")
        expect(server.objects(to) == tables, f"{to}: tables that were written again differ")


def check_killed(pellucid, server, trace, tables):
    """The program is killed while it writes."""
    words = [str(pellucid), "doctor", str(trace), "--rank", "0", "--parquet"]
    begin = time.monotonic()
    subprocess.run([*words, uri(server.port, "timed")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    seconds, chance = time.monotonic() - begin, random.Random(0)
    for i in range(KILLS):
        writing = subprocess.Popen([*words, uri(server.port, f"killed{i}")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds * chance.uniform(0.3, 1))
        writing.kill()
        writing.wait()
        expect_whole(server.objects(f"killed{i}"), tables, f"killed{i}")


def check_server_killed(pellucid, trace):
    """The server itself is killed during an upload; what it had is gone with it, and the program says so."""
    with Server() as server:
        words = [str(pellucid), "doctor", str(trace), "--rank", "0", "--parquet", uri(server.port, "x")]
        writing = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while writing.poll() is None and not server.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads"):
            pass
        server.kill()
        out, err = writing.communicate(timeout=NETWORK_SECONDS)
        expect(writing.returncode == 3 and not out and "cannot be written: " in err, "the server was killed:", writing.returncode, out, err)


def main():
    if sys.argv[1] == "--forward":
        forward(*map(int, sys.argv[2:]))
    pellucid, make = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        folder = Path(folder)
        expect_equal(run(make, "json", folder / "traces", 4, 3_000)[::2], (0, ""), "write_made_ranks")
        traces = sorted((folder / "traces").iterdir())
        check_written(pellucid, server, traces, folder)
        check_replacing(pellucid, server, traces)
        check_refused(pellucid, server, traces[0], folder)
        expect_equal(run(make, "json", folder / "long", 1, 100_000)[::2], (0, ""), "write_made_ranks")
        trace = folder / "long/rank0.json"
        expect_equal(run(pellucid, "doctor", trace, "--rank", 0, "--parquet", folder / "whole")[0], 0, "tables of a long trace")
        tables = tables_of(folder / "whole")
        check_cut(pellucid, server, trace, tables)
        check_killed(pellucid, server, trace, tables)
        check_server_killed(pellucid, trace)
    for problem in problems:
        print(problem)
    print(f"fleet_s3: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
