#!/usr/bin/env python3
"""Tests of all.py. Small Python programs stand in for the benchmarks."""
import contextlib
import importlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
runs = importlib.import_module("all")
import report

FIGURES = {"bench": "good", "ratios": {"a": 0.5}, "intervals": {"a": [0.4, 0.6]}, "goals": {}, "verdicts": {"a": "no goal"}, "ok": True}
PROGRAMS = {
    "good": f"print('a table'); print({json.dumps(FIGURES)!r})",
    "missing": "import sys; print('bench: no executable bench_missing under build', file=sys.stderr); sys.exit(2)",
    "half": f"import sys; print({json.dumps({**FIGURES, 'bench': 'half'})!r}); print('ValueError: out of luck'); sys.exit(1)",
    "missed": f"import sys; print({json.dumps({**FIGURES, 'bench': 'missed', 'ok': False})!r}); sys.exit(1)",
    "slow": "import time; time.sleep(60)",
    "silent": "pass",
}


class Running(unittest.TestCase):
    def run_all(self, chosen, record=None, minutes=1.0):
        written = []
        record = record or {"results": [], "failures": []}
        self.output = io.StringIO()
        with contextlib.redirect_stdout(self.output):
            runs.run_all(chosen, record, lambda each: written.append(json.loads(json.dumps(each))), minutes,
                         lambda name: [sys.executable, "-c", PROGRAMS[name]])
        return record, written

    def test_one_that_fails_does_not_end_the_others(self):
        record, written = self.run_all({"missing": ["missing"], "half": ["half", "other"], "silent": ["silent"], "good": ["good"]})
        self.assertEqual([(each["benchmark"], each["bench"]) for each in record["results"]], [("half", "half"), ("good", "good")])
        reasons = {each["benchmark"]: (each["tables"], each["reason"]) for each in record["failures"]}
        self.assertEqual(reasons, {
            "missing": (["missing"], "it ended with 2: bench: no executable bench_missing under build"),
            "half": (["other"], "it ended with 1: ValueError: out of luck"),
            "silent": (["silent"], "it printed no figures")})
        self.assertEqual([len(each["results"]) for each in written], [0, 1, 1, 2])  # written after each
        self.assertIn("a table", self.output.getvalue())

    def test_a_missed_goal_is_not_a_failure(self):
        record, _ = self.run_all({"missed": ["missed"]})
        self.assertEqual((len(record["results"]), record["failures"]), (1, []))

    def test_one_that_takes_too_long_is_stopped(self):
        record, _ = self.run_all({"slow": ["slow"], "good": ["good"]}, minutes=1 / 60)
        self.assertIn("it was stopped after", record["failures"][0]["reason"])
        self.assertEqual(len(record["results"]), 1)

    def test_a_second_run_replaces_figures_and_failures_of_its_names(self):
        before = {"results": [{**FIGURES, "benchmark": "good", "ok": False}, {**FIGURES, "benchmark": "kept"}],
                  "failures": [{"benchmark": "good", "tables": [], "reason": "x"}, {"benchmark": "else", "tables": [], "reason": "y"}]}
        record, _ = self.run_all({"good": ["good"]}, before)
        self.assertEqual({each["benchmark"]: each["ok"] for each in record["results"]}, {"kept": True, "good": True})
        self.assertEqual([each["benchmark"] for each in record["failures"]], ["else"])


class Merging(unittest.TestCase):
    NEW = {"schema": report.SCHEMA, "commit": "1", "machine": {}, "versions": {}, "date": "today", "results": [], "failures": []}

    def test_figures_of_the_same_commit_and_machine_stay(self):
        old = {**self.NEW, "date": "yesterday", "results": [FIGURES]}
        self.assertEqual(runs.merged(old, self.NEW)["results"], [FIGURES])
        for other in ({"commit": "2"}, {"machine": {"cpu": "x"}}, {"versions": {"torch": "3"}}, {"schema": "other"}):
            self.assertEqual(runs.merged({**old, **other}, self.NEW)["results"], [])
        self.assertEqual(runs.merged(None, self.NEW), self.NEW)


class Names(unittest.TestCase):
    def test_every_folder_with_a_table_or_goals_is_a_benchmark(self):
        found = runs.benchmarks()
        self.assertEqual(found["dispatch"], ["dispatch"])
        self.assertEqual(found["distributed"], ["distributed"])
        self.assertEqual(found["torch_backend"], ["torch_backend"])
        self.assertGreaterEqual(set(found["compile"]), {"compile", "compile_first", "compile_training_memory"})
        self.assertNotIn("anatomy", found)

    def test_an_unknown_name_is_refused_before_anything_runs(self):
        errors = io.StringIO()
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(errors):
            runs.main(["dispatch", "dispach"])
        self.assertIn("there is no benchmark dispach; there are: attention, ", errors.getvalue())


class Command(unittest.TestCase):
    def test_the_page_is_written_from_the_figures_of_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            docs = pathlib.Path(folder, "docs")
            docs.mkdir()
            results = pathlib.Path(folder, "results.json")
            record = {**report.surroundings(), "results": [{**FIGURES, "benchmark": "good"}]}
            results.write_text(json.dumps(record), encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()):
                report.main([str(results), "--docs", str(docs)])
            self.assertIn("| a | 0.50 | 0.40 – 0.60 |", (docs / "benchmarks.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
