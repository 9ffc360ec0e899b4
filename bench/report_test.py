#!/usr/bin/env python3
"""Tests of report.py, with a small record whose figures are invented for it."""
import contextlib
import copy
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "scripts")]
import markdown_pages
import report

MACHINE = {"schema": "pellucid.machine/1", "cpu": "A processor", "isa": "", "threads": 2,
           "levels": [{"name": "L1", "bytes": 65536, "gb_per_s": 400.4}, {"name": "memory", "bytes": 0, "gb_per_s": 20.0}],
           "peaks": [{"dtype": "f32", "gflop_per_s": 150.2, "by": "AVX-512", "ridges": []}]}
FAST = {"benchmark": "dispatch", "bench": "dispatch", "peer": "libtorch", "ratios": {"add": 0.125, "t": 0.25, "geometric mean": 0.177},
        "intervals": {"add": [0.12, 0.13], "t": [0.2, 0.5], "geometric mean": [0.1, 0.2]}, "goals": {"add": 0.15},
        "verdicts": {"add": "met", "t": "no goal", "geometric mean": "no goal"}, "ok": True}
SLOW = {"benchmark": "gemm", "bench": "gemm_torch", "peer": "libtorch | oneDNN", "ratios": {"f32 64": 2.0, "f32 128": 1.05, "f32 256": 0.5},
        "intervals": {"f32 64": [1.8, 2.2], "f32 128": [0.95, 1.1], "f32 256": [0.4, 0.6]}, "goals": {"f32 64": 1.0, "f32 256": 1.0},
        "verdicts": {"f32 64": "missed", "f32 128": "no goal", "f32 256": "met"}, "ok": False}
UNITS = {"benchmark": "torch_backend", "bench": "torch_backend", "ratios": {"gpt2": 0.9, "our share": 0.04}, "units": {"gpt2": "ratio", "our share": "s"},
         "intervals": {"gpt2": [0.85, 0.95], "our share": [0.03, 0.05]}, "goals": {"our share": 0.08}, "verdicts": {"our share": "met"}, "ok": True}
OWN = {**copy.deepcopy(SLOW), "benchmark": "threads", "bench": "threads_torch_own", "ours": "peer_threads_torch"}
RECORD = {"schema": report.SCHEMA, "date": "2026-01-02", "commit": "0123abc", "machine": MACHINE, "versions": {"torch": "2.15.0", "g++": "12.2.0"},
          "results": [FAST, SLOW, UNITS, OWN],
          "failures": [{"benchmark": "jit", "tables": ["jit"], "reason": "it ended with 2: bench: no executable bench_jit under build"}]}


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.docs = pathlib.Path(folder.name) / "docs"
        self.docs.mkdir()

    def written(self, record=RECORD):
        report.write_page(record, self.docs)
        return (self.docs / "benchmarks.md").read_text(encoding="utf-8")

    def test_it_names_machine_roofs_commit_and_peers(self):
        text = self.written()
        for expected in ("A processor, 2 threads", "| L1 | 400 |", "| f32 | 150 | AVX-512 |", "commit 0123abc", "torch 2.15.0, g++ 12.2.0", "2026-01-02"):
            self.assertIn(expected, text)

    def test_a_ratio_comes_with_its_interval_and_goal(self):
        text = self.written()
        self.assertIn("| add | 0.12 | 0.12 – 0.13 | 0.15 | met |", text)
        self.assertIn("| f32 64 | 2.00 | 1.80 – 2.20 | 1.00 | missed |", text)
        self.assertIn("| [dispatch](#dispatch) | libtorch | 2 | 0.18 | 0.12 – 0.25 | 1 met |", text)
        self.assertIn("libtorch \\| oneDNN", text)

    def test_losses_are_cases_whose_whole_interval_is_above_1_or_that_miss_their_goal(self):
        text = self.written()
        lost = text[text.index("## Where we lose"):text.index("## Without figures")]
        self.assertIn("In 1 of 6 cases", lost)
        self.assertIn("1 cases miss their goal", lost)
        self.assertIn("| f32 64 | [gemm_torch](#gemm_torch) | 2.00 |", lost)
        self.assertNotIn("f32 128", lost)  # its interval contains 1
        self.assertNotIn("threads_torch_own", lost)  # the peer against itself
        missed = {**FAST, "verdicts": {**FAST["verdicts"], "add": "missed"}}
        text = self.written({**RECORD, "results": [missed]})
        self.assertIn("In 0 of 2 cases", text)
        self.assertIn("| add | [dispatch](#dispatch) | 0.12 | 0.12 – 0.13 | 0.15, missed |", text)
        without = {**RECORD, "results": [FAST]}
        self.assertIn("In no case", self.written(without))

    def test_what_is_not_a_ratio_is_listed_with_its_unit(self):
        text = self.written()
        self.assertIn("| our share | 0.04 s | 0.08 | met |", text)
        self.assertEqual([case[0] for case in report.cases_of(UNITS)], ["gpt2"])

    def test_benchmarks_without_figures_are_named_with_the_reason(self):
        self.assertIn("| jit | jit | it ended with 2: bench: no executable bench_jit under build |", self.written())
        self.assertNotIn("Without figures", self.written({**RECORD, "failures": []}))

    def test_long_tables_say_what_they_leave_out(self):
        names = [f"case {i}" for i in range(50)]
        many = {**FAST, "ratios": {name: 0.5 for name in names}, "intervals": {name: [0.4, 0.6] for name in names}, "goals": {}, "verdicts": {}}
        text = self.written({**RECORD, "results": [many]})
        self.assertIn("And 10 cases that are faster.", text)
        self.assertEqual(len(re.findall(r"^\| case \d+ \|", text, re.MULTILINE)), 40)

    def test_links_lead_to_headings_and_pictures(self):
        text = self.written()
        for address in re.findall(r"\]\(([^)]+)\)", text):
            if address.startswith("#"):
                self.assertIn(address[1:], markdown_pages.anchors(text))
            elif address.startswith("images/"):
                self.assertTrue((self.docs / address).is_file(), address)

    def test_pictures_are_xml_and_their_dots_follow_the_ratios(self):
        self.written()
        drawn = {path.stem: ElementTree.parse(path).getroot() for path in (self.docs / report.IMAGES).glob("*.svg")}
        self.assertEqual(set(drawn), {"all", "dispatch", "gemm_torch", "threads_torch_own"})
        dots = [float(dot.get("cx")) for dot in drawn["gemm_torch"].iter("{http://www.w3.org/2000/svg}circle")]
        self.assertEqual(dots, sorted(dots, reverse=True))
        axis = report.Axis([0.4, 2.2], 230, 700)
        self.assertEqual((axis.x(1 / 4), axis.x(1), axis.x(4)), (230.0, 465.0, 700.0))
        self.assertEqual(len(list(drawn["all"].iter("{http://www.w3.org/2000/svg}circle"))), 2 + 3 + 1 + 3)

    def test_pictures_of_tables_that_are_gone_are_removed(self):
        self.written()
        self.written({**RECORD, "results": [FAST]})
        self.assertFalse((self.docs / report.IMAGES / "gemm_torch.svg").exists())

    def test_the_page_can_be_written_again_from_its_record(self):
        first = self.written()
        self.assertEqual(self.written(json.loads((self.docs / "benchmarks.json").read_text(encoding="utf-8"))), first)

    def test_without_figures_there_is_no_page(self):
        path = self.docs / "results.json"
        for text, message in ((None, "does not exist"), ("{}", "is not a file of results"), (json.dumps({**RECORD, "results": []}), "no figures")):
            if text is not None:
                path.write_text(text)
            with self.assertRaises(SystemExit) as ended, contextlib.redirect_stdout(io.StringIO()):
                report.main([str(path), "--docs", str(self.docs)])
            self.assertIn(message, str(ended.exception))
        self.assertFalse((self.docs / "benchmarks.md").exists())


class Surroundings(unittest.TestCase):
    def test_they_are_those_of_this_machine(self):
        record = report.surroundings()
        self.assertEqual((record["schema"], record["results"], record["failures"]), (report.SCHEMA, [], []))
        self.assertRegex(record["commit"], r"^([0-9a-f]{7,}|unknown)( with changes)?$")


if __name__ == "__main__":
    unittest.main()
