#!/usr/bin/env python3
"""Ranks reduced by Ray on two nodes, packed once, and asked by Spark with a master and two workers: docs/fleet/spark.sql has DuckDB's
answers. All nodes and workers are processes of this machine.

    check_clusters.py PELLUCID WRITE_MADE_RANKS [--ranks 64] [--packed FOLDER]

It does not belong to the tests, since it needs 2 GB of packages and Java: pip install ray==2.60.0 pyspark==4.3.0 duckdb pyarrow polars, and Debian's
default-jre-headless. --packed asks Spark about jobs that are packed already, and leaves Ray out.
"""
import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import check_pack
from check_pack import expect, expect_equal, problems, run

RANKS_OF_TASK = 8


def reduce_by_ray(pellucid, traces, tables):
    """Each task reduces some ranks; says on how many nodes they ran."""
    import ray
    from ray.cluster_utils import Cluster

    begin = time.monotonic()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100_000_000})
    cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
    ray.init(address=cluster.address, log_to_driver=False)
    print(f"Ray: {len(ray.nodes())} nodes in {time.monotonic() - begin:.1f} s")

    @ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
    def reduce(some):
        for trace in some:
            subprocess.run([pellucid, "doctor", trace, "--parquet", tables, "--label", "job=llama", "--label", "commit=4f2a91"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return ray.get_runtime_context().get_node_id()

    begin = time.monotonic()
    nodes = ray.get([reduce.remote(traces[i:i + RANKS_OF_TASK]) for i in range(0, len(traces), RANKS_OF_TASK)])
    print(f"Ray: {len(traces)} ranks in {len(nodes)} tasks on {len(set(nodes))} nodes in {time.monotonic() - begin:.1f} s")
    expect_equal(len(set(nodes)), 2, "nodes that reduced ranks")
    ray.shutdown()
    cluster.shutdown()


class SparkCluster:
    """A master and two workers, which this process ends."""

    def __init__(self, folder):
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.environment = {**os.environ, "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOG_DIR": str(folder),
                            "SPARK_WORKER_DIR": str(folder / "work"), "PYSPARK_PYTHON": sys.executable}
        os.environ.update(self.environment)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.master, self.processes, self.log = f"spark://127.0.0.1:{port}", [], open(folder / "spark.log", "w", encoding="utf-8")
        self.start("master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", 0)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        for _ in range(2):
            self.start("worker.Worker", self.master, "--host", "127.0.0.1", "--cores", 1, "--memory", "1g", "--webui-port", 0)

    def start(self, role, *words):
        command = [self.home / "bin/spark-class", f"org.apache.spark.deploy.{role}", *words]
        self.processes.append(subprocess.Popen(list(map(str, command)), env=self.environment, stdout=self.log, stderr=self.log))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            process.wait()
        self.log.close()


def ask_spark(cluster, packed):
    """{title: rows} of every block of spark.sql."""
    from pyspark.sql import SparkSession

    begin = time.monotonic()
    session = (SparkSession.builder.master(cluster.master).appName("fleet").config("spark.ui.enabled", "false")
               .config("spark.sql.shuffle.partitions", "4").config("spark.executor.memory", "1g").config("spark.executor.cores", "1")
               .config("spark.cores.max", "2").config("spark.driver.host", "127.0.0.1").getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    while (workers := session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1) < 2 and time.monotonic() - begin < 300:
        time.sleep(0.2)
    print(f"Spark {session.version}: {workers} executors in {time.monotonic() - begin:.1f} s")
    expect_equal(workers, 2, "executors")
    answers = {}
    for title, text in check_pack.blocks("spark").items():
        begin = time.monotonic()
        for sql in text.replace("'fleet/", f"'{packed}/").split(";\n"):
            if sql.strip():
                answers[title] = [row.asDict() for row in session.sql(sql.strip().rstrip(";")).collect()]
        print(f"Spark: {title}: {time.monotonic() - begin:.1f} s, {len(answers[title])} rows")
    session.stop()
    return answers


def check_spark(packed, folder):
    wanted = check_pack.answers(packed)
    with SparkCluster(folder) as cluster:
        found = ask_spark(cluster, packed)
    for title, rows in found.items():
        if title == "views":
            continue
        expect(rows, f"Spark: {title} has no row")
        columns = rows[0] if rows else ()
        seen, right = ([[str(row[column]) for column in columns] for row in some] for some in (rows, wanted[title]))
        expect_equal(seen, right, f"Spark: {title}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=2, metavar=("PELLUCID", "WRITE_MADE_RANKS"))
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--packed", type=Path)
    arguments = parser.parse_args()
    pellucid, make = (str(Path(program).resolve()) for program in arguments.programs)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        packed = arguments.packed
        if packed is None:
            packed = folder / "fleet"
            expect_equal(run(make, "json", folder / "traces", arguments.ranks, 3_000, 8)[::2], (0, ""), "write_made_ranks")
            reduce_by_ray(pellucid, [str(path) for path in sorted((folder / "traces").iterdir())], str(folder / "ranks"))
            ran = run(pellucid, "fleet", "pack", folder / "ranks", packed, "--date", check_pack.DATE)
            expect_equal((ran[0], ran[2]), (0, ""), "pack")
        check_spark(packed.resolve(), folder)
    for problem in problems:
        print(problem)
    print(f"clusters: {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
