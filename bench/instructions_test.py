#!/usr/bin/env python3
"""Tests of instructions.py. Scripts stand in for Valgrind and the benchmark, so nothing needs to be installed."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import instructions

# Start-up costs 5000 instructions, a call costs what the environment says.
FAKE_VALGRIND = """#!/bin/sh
out=${2#--callgrind-out-file=}
echo "events: Ir" > "$out"
echo "summary: $((5000 + $7 * COST_OF_A_CALL))" >> "$out"
"""

FAKE_BENCH = """#!/bin/sh
read request
echo small
"""


class Gate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in [("valgrind", FAKE_VALGRIND), ("bench_fake", FAKE_BENCH)]:
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def gate(self, budgets, cost):
        """Returns the exit code, what was printed, and the last line read as JSON."""
        (self.folder / "budgets.json").write_text(json.dumps(budgets))
        environment = {"PATH": f"{self.folder}:{os.environ['PATH']}", "COST_OF_A_CALL": str(cost)}
        out, self.errors = io.StringIO(), io.StringIO()
        with unittest.mock.patch.dict(os.environ, environment):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(self.errors):
                arguments = ["--bench-dir", str(self.folder), "--budgets", str(self.folder / "budgets.json")]
                code = instructions.main(arguments)
        lines = out.getvalue().splitlines()
        return code, out.getvalue(), json.loads(lines[-1]) if lines else None

    def test_start_up_does_not_count(self):
        code, text, result = self.gate({"fake": {"small": 100}}, cost=95)
        self.assertEqual((code, result["ok"]), (0, True))
        self.assertEqual(result["instructions"], {"fake": {"small": 95.0}})
        self.assertEqual(result["budgets"], {"fake": {"small": 100}})
        self.assertRegex(text, r"(?m)^fake +small +95\.0 +100 +within$")

    def test_over_the_budget_exits_1_and_says_what_to_do(self):
        code, text, result = self.gate({"fake": {"small": 100}}, cost=101)
        self.assertEqual((code, result["ok"]), (1, False))
        self.assertIn("callgrind_annotate", text)
        self.assertIn("raise the budget in bench/instructions.json", text)

    def test_a_loose_budget_is_pointed_out(self):
        code, text, _ = self.gate({"fake": {"small": 400}}, cost=100)
        self.assertEqual(code, 0)
        self.assertIn("lower it to 105", text)

    def test_a_case_without_a_budget_is_refused(self):
        self.assertEqual(self.gate({"fake": {"other": 1}}, cost=1)[0], 2)
        self.assertIn("only one of them names: other, small", self.errors.getvalue())

    def test_a_failing_run_is_reported_with_its_command(self):
        (self.folder / "valgrind").write_text("#!/bin/sh\necho broken >&2\nexit 7\n")
        self.assertEqual(self.gate({"fake": {"small": 1}}, cost=1)[0], 2)
        message = r"valgrind .* --case small --iters 1000 ended with code 7\nbroken"
        self.assertRegex(self.errors.getvalue(), message)


class Budgets(unittest.TestCase):
    def test_name_the_same_cases_as_the_goals(self):
        for name, cases in json.loads(instructions.BUDGETS.read_text()).items():
            goals = json.loads((instructions.BUDGETS.parent / name / f"{name}.json").read_text())
            self.assertEqual(set(cases), set(goals["cases"]))


if __name__ == "__main__":
    unittest.main()
