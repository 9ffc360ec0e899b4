#!/usr/bin/env python3
"""Tests of run.py. Small Python servers stand in for the executables, so nothing needs to be built."""

import contextlib
import io
import json
import os
import pathlib
import random
import shlex
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run

# Answers with the nanoseconds that an expression yields for the n-th burst. The count outlives the process,
# because the driver restarts processes.
FAKE_SERVER = """
import pathlib, sys
count_file, names, expression = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
for line in sys.stdin:
    words = line.split()
    if words[0] == "list":
        print(names, flush=True)
    elif words[0] == "run":
        n = int(count_file.read_text() or 0)
        count_file.write_text(str(n + 1))
        print(eval(expression), flush=True)
    else:
        break
"""

# Thirty bursts fast, thirty slow: about as many samples below the mean as above, at every check.
STRADDLING = "90 if n // 30 % 2 == 0 else 110"


class Statistics(unittest.TestCase):
    def test_ranks_agree_with_the_sign_test_table(self):
        # The usual table of 95 % intervals of a median counts ranks from 1.
        for count, low, high in [(6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33)]:
            with self.subTest(count=count):
                self.assertEqual(run.median_ranks(count), (low - 1, high - 1))

    def test_too_few_samples_are_refused(self):
        with self.assertRaisesRegex(ValueError, "5 samples are too few"):
            run.median_ranks(5)

    def test_large_counts_do_not_overflow(self):
        low, high = run.median_ranks(5000)
        self.assertEqual(low + high, 4999)
        self.assertAlmostEqual((high - low) / (2 * 1.96 * 0.5 * 5000**0.5), 1, delta=0.02)

    def test_interval_covers_the_true_median_in_95_of_100_experiments(self):
        rng = random.Random(1)
        experiments, covered = 2000, 0
        for _ in range(experiments):
            low, high = run.median_interval([rng.lognormvariate(0, 1) for _ in range(50)])
            covered += low <= 1 <= high
        self.assertGreater(covered / experiments, 0.94)
        self.assertLess(covered / experiments, 0.98)

    def test_one_wild_sample_does_not_move_the_interval_out(self):
        self.assertEqual(run.median_interval([1.0] * 49 + [1000.0]), (1.0, 1.0))


class Verdict(unittest.TestCase):
    def test_follows_the_interval_and_not_the_ratio(self):
        self.assertEqual(run.judge(0.10, 0.14, 0.15), "met")
        self.assertEqual(run.judge(0.10, 0.15, 0.15), "met")
        self.assertEqual(run.judge(0.14, 0.16, 0.15), "inconclusive")
        self.assertEqual(run.judge(0.15, 0.16, 0.15), "inconclusive")
        self.assertEqual(run.judge(0.16, 0.20, 0.15), "missed")
        self.assertEqual(run.judge(0.16, 0.20, None), "no goal")

    def test_only_a_missed_goal_is_not_ok(self):
        met, missed, free = run.Case("a", 1.0), run.Case("b", 1.0), run.Case("c", None)
        for case, nanoseconds in [(met, 50), (missed, 200), (free, 200)]:
            case.ours, case.peer = [nanoseconds] * 10, [100] * 10
        self.assertTrue(run.summary("x", [met, free])["ok"])
        self.assertFalse(run.summary("x", [met, missed])["ok"])


    def test_the_geometric_mean_is_one_figure_per_round(self):
        first, second = run.Case("a", 1.0), run.Case("b", 1.0)
        first.ours, first.peer = [50, 200, 50, 50, 50, 50, 50], [100] * 7
        second.ours, second.peer = [200] * 6, [100] * 6  # one round fewer
        mean = run.GeometricMean([first, second], 1.0)
        self.assertEqual([round(ratio, 9) for ratio in mean.ratios()], [1, 2, 1, 1, 1, 1])
        self.assertEqual(mean.verdict(), "inconclusive")
        mean.goal = 0.9
        self.assertFalse(run.summary("x", [first], mean)["ok"])


class FakeSide:
    """Returns bursts from a list, and records the order of the requests."""

    bursts_per_sample = run.BURSTS_PER_SAMPLE

    def __init__(self, name, journal, bursts):
        self.name, self.journal, self.bursts, self.restarts = name, journal, bursts, 0

    def calibrate(self, case):
        pass

    def restart(self, cases):
        self.restarts += 1

    def burst(self, case):
        self.journal.append(self.name)
        return next(self.bursts)


class Measuring(unittest.TestCase):
    def measure(self, ours, goal, pairs=10, limit=10):
        self.journal = []
        case = run.Case("a", goal)
        self.ours = FakeSide("ours", self.journal, iter(ours))
        peer = FakeSide("peer", self.journal, iter(lambda: 100.0, None))
        run.measure([case], self.ours, peer, pairs, limit, random.Random(0), run.Progress(io.StringIO()))
        return case

    def test_a_sample_is_the_fastest_burst_of_three(self):
        case = self.measure([70.0, 50.0, 60.0] * 10, 1.0)
        self.assertEqual(case.ours, [50.0] * 10)
        self.assertEqual(case.ratio(), 0.5)

    def test_the_sides_alternate_and_either_may_begin(self):
        self.measure([50.0] * 30, 1.0)
        pairs = ["".join(side[0] for side in self.journal[i : i + 6]) for i in range(0, 60, 6)]
        self.assertEqual(set(pairs), {"opopop", "popopo"})

    def test_an_inconclusive_case_is_repeated_up_to_the_limit(self):
        straddling = [90.0] * 30 + [110.0] * 30
        case = self.measure(straddling * 10, 1.0, pairs=20, limit=100)
        self.assertEqual((case.verdict(), len(case.ours)), ("inconclusive", 100))

    def test_repeating_stops_when_the_verdict_is_clear(self):
        case = self.measure(([90.0] * 30 + [110.0] * 30) + [90.0] * 1000, 1.0, pairs=20, limit=400)
        self.assertEqual((case.verdict(), len(case.ours)), ("met", 40))

    def test_clear_cases_and_cases_without_a_goal_are_not_repeated(self):
        for goal in (0.5, 1.5, None):
            with self.subTest(goal=goal):
                self.assertEqual(len(self.measure([100.0] * 60, goal, pairs=20, limit=400).ours), 20)

    def test_processes_are_restarted_between_rounds(self):
        self.measure([50.0] * 150, 1.0, pairs=50, limit=50)
        self.assertEqual(self.ours.restarts, 5)


    def test_each_first_call_has_its_own_process(self):
        class Recorder:
            def __init__(self):
                self.journal = []

            def restart(self):
                self.journal.append("restart")

            def nanoseconds(self, case, iters):
                self.journal.append(f"run {case} {iters}")
                return 5.0

        ours, peer = run.FirstCalls(Recorder()), run.FirstCalls(Recorder())
        case = run.Case("a", 1.0)
        run.measure([case], ours, peer, 6, 6, random.Random(0), run.Progress(io.StringIO()))
        for side in (ours, peer):
            self.assertEqual(side.server.journal, ["restart", "run a 1"] * 6)
        self.assertEqual((case.ours, case.ratio()), ([5.0] * 6, 1.0))


class Calibration(unittest.TestCase):
    class CoarseClock:
        """Ticks once a microsecond, so that a few short calls seem to take no time."""

        def __init__(self, cost):
            self.cost, self.longest = cost, 0

        def nanoseconds(self, case, iters):
            self.longest = max(self.longest, iters)
            return iters * self.cost // 1000 * 1000 / iters

    def test_fills_a_burst_and_never_overshoots_it(self):
        for cost in (0.3, 40, 900, 1e6, 5e8):
            with self.subTest(cost=cost):
                side = run.Side(self.CoarseClock(cost))
                side.calibrate("a")
                if cost < run.BURST_NS:
                    self.assertAlmostEqual(side.iters["a"] * cost / run.BURST_NS, 1, delta=0.1)
                else:
                    self.assertEqual(side.iters["a"], 1)
                self.assertLessEqual(side.server.longest * cost, max(cost, 2 * run.BURST_NS))


class Command(unittest.TestCase):
    """The whole driver, with servers in their own processes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "server.py").write_text(FAKE_SERVER)
        self.describe(small=1.0, free=None)
        cores = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, cores)

    def describe(self, **goals):
        cases = {name: {"goal": goal} for name, goal in goals.items()}
        (self.folder / "fake.json").write_text(json.dumps({"peer": "a fake", "cases": cases}))

    def server(self, side, expression, names="small free"):
        (self.folder / side).write_text("")
        program, count_file = str(self.folder / "server.py"), str(self.folder / side)
        return shlex.join([sys.executable, "-IS", program, count_file, names, expression])

    def bench(self, ours, *arguments, peer="100", names="small free"):
        """Returns the exit code, what was printed, and the last line read as JSON."""
        command = ["fake", "--goals", str(self.folder), "--pairs", "20", "--limit", "60", *arguments]
        command += ["--ours", self.server("ours", ours, names), "--peer", self.server("peer", peer)]
        out, self.errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(self.errors):
            code = run.main(command)
        lines = out.getvalue().splitlines()
        return code, out.getvalue(), json.loads(lines[-1]) if lines else None

    def test_check_exits_0_when_the_goal_is_met(self):
        code, text, result = self.bench("50", "--check")
        self.assertEqual(code, 0)
        self.assertEqual(result["bench"], "fake")
        self.assertEqual(result["ratios"], {"small": 0.5, "free": 0.5})
        self.assertEqual(result["goals"], {"small": 1.0})
        self.assertIs(result["ok"], True)
        self.assertRegex(text, r"(?m)^small +50\.0 +100\.0 +0\.500 +0\.500 \.\. 0\.500 +1\.00 +met +20$")
        self.assertRegex(text, r"(?m)^free .* - +no goal +20$")

    def test_check_exits_1_when_the_goal_is_missed(self):
        code, text, result = self.bench("200", "--check")
        self.assertEqual(code, 1)
        self.assertIs(result["ok"], False)
        self.assertEqual(result["verdicts"], {"small": "missed", "free": "no goal"})
        self.assertIn("./dev bench fake --check --case small", text)

    def test_without_check_a_missed_goal_is_only_reported(self):
        code, _, result = self.bench("200")
        self.assertEqual((code, result["ok"]), (0, False))

    def test_check_repeats_an_inconclusive_case_and_does_not_fail_it(self):
        code, text, result = self.bench(STRADDLING, "--check", "--case", "small")
        self.assertEqual((code, result["ok"], result["verdicts"]), (0, True, {"small": "inconclusive"}))
        self.assertRegex(text, r"(?m)^small .* inconclusive +60$")
        self.assertEqual(self.errors.getvalue(), "small: 20 pairs\n" * 3)

    def test_without_check_nothing_is_repeated(self):
        _, text, _ = self.bench(STRADDLING, "--case", "small")
        self.assertRegex(text, r"(?m)^small .* inconclusive +20$")

    def test_json_prints_one_line(self):
        code, text, result = self.bench("50", "--json")
        self.assertEqual((code, text.count("\n"), result["ok"]), (0, 1, True))

    def test_the_table_fits_100_columns(self):
        _, text, _ = self.bench("123456789.0", peer="987654321.0")
        self.assertLessEqual(max(map(len, text.splitlines()[:-1])), 100)

    def test_small_ratios_and_long_calls_stay_readable(self):
        self.describe(small=0.005, free=None)
        _, text, result = self.bench("25000000.0", peer="15000000000.0")
        self.assertRegex(text, r"(?m)^case +ms ours +ms peer ")
        self.assertRegex(text, r"(?m)^small +25\.0 +15,000\.0 +0\.0017 +0\.0017 \.\. 0\.0017 +0\.005 +met +20$")
        self.assertEqual(result["ratios"]["small"], 0.001667)
        self.assertLessEqual(max(map(len, text.splitlines()[:-1])), 100)

    def test_a_quantity_that_is_not_a_time_has_its_own_unit(self):
        cases = {"small": {"goal": 1.0}, "free": {"goal": None}}
        description = {"peer": "a fake", "unit": "bytes", "cases": cases}
        (self.folder / "fake.json").write_text(json.dumps(description))
        _, text, _ = self.bench("2000000000.0", peer="4000000000.0")
        self.assertRegex(text, r"(?m)^case +bytes ours +bytes peer ")
        self.assertRegex(text, r"(?m)^small +2,000,000,000 +4,000,000,000 +0\.500 ")

    def test_a_server_that_dies_is_named(self):
        code, _, _ = self.bench("sys.exit(3)")
        self.assertEqual(code, 2)
        self.assertRegex(self.errors.getvalue(), r"ours .* ended with code 3 at 'run small 1'")

    def test_an_error_of_a_server_is_passed_on(self):
        code, _, _ = self.bench("'error: small: out of memory'")
        self.assertEqual(code, 2)
        self.assertIn("error: small: out of memory", self.errors.getvalue())

    def test_cases_and_goals_must_name_each_other(self):
        self.assertEqual(self.bench("50", names="small")[0], 2)
        self.assertIn("lacks the cases: free", self.errors.getvalue())
        self.assertEqual(self.bench("50", names="small free other")[0], 2)
        self.assertIn("do not name these cases; write null for no goal: other", self.errors.getvalue())

    def test_an_unknown_case_is_refused(self):
        self.assertEqual(self.bench("50", "--case", "smal")[0], 2)
        self.assertIn("there is no case smal; the cases are: small, free", self.errors.getvalue())

    def test_a_missing_executable_or_benchmark_is_named(self):
        for name, message in [("fake", "no executable bench_fake under"), ("none", "no benchmark none")]:
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                code = run.main([name, "--goals", str(self.folder), "--build", str(self.folder)])
            self.assertEqual(code, 2)
            self.assertIn(message, errors.getvalue())

    def test_executables_are_found_in_any_folder_of_the_build(self):
        path = self.folder / "deep" / "bench_fake"
        path.parent.mkdir()
        path.write_text("#!/bin/sh\n")
        with self.assertRaises(run.CannotRun):
            run.find_executable(self.folder, "bench_fake")
        path.chmod(0o755)
        self.assertEqual(run.find_executable(self.folder, "bench_fake"), [str(path)])

    def test_a_script_is_the_peer_if_there_is_one(self):
        command = run.find_peer(self.folder, "compile")
        self.assertEqual(command[-1], str(run.ROOT / "bench" / "compile" / "peer_compile.py"))
        with self.assertRaisesRegex(run.CannotRun, "no executable peer_fake"):
            run.find_peer(self.folder, "fake")

    def test_another_of_our_benchmarks_may_be_the_peer(self):
        with self.assertRaisesRegex(run.CannotRun, "no executable bench_other"):
            run.find_peer(self.folder, "compile", "other")


class Descriptions(unittest.TestCase):
    def test_every_benchmark_here_has_a_readable_description(self):
        folder = pathlib.Path(run.__file__).parent
        for source in folder.glob("*.cc"):
            with self.subTest(benchmark=source.stem):
                peer, cases = run.read_description(folder, source.stem)
                self.assertTrue(peer and cases)


if __name__ == "__main__":
    unittest.main()
