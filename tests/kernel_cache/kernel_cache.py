#!/usr/bin/env python3
"""The cache of compiled kernels under everything that happens to files: kills, full disks, planted files, links, damage.

kernel_cache.py PROBE PELLUCID. After each, the program must give the bits that it gives without a cache, and an entry that
is not as it was written must not be loaded. PELLUCID_TEST_SHARE=N makes one in N of the 200 kills.
"""
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROBE, PELLUCID = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
KILLS = max(200 // int(os.environ.get("PELLUCID_TEST_SHARE", "1")), 10)
NOBODY = 65534


class Run:
    """One run of the probe: its bits, and what it asked the cache for."""

    def __init__(self, cache, *args, isa=None, **options):
        environment = {**os.environ, "PELLUCID_CACHE": str(cache), "PELLUCID_LOG": "cache", "PELLUCID_THREADS": "2"}
        if isa:
            environment["PELLUCID_ISA"] = isa
        done = subprocess.run([PROBE, *(args or ("run",))], env=environment, capture_output=True, text=True, timeout=300,
                              **options)
        self.code, self.log = done.returncode, done.stderr
        self.bits = next(iter(re.findall(r"bits (\w+)", done.stdout)), None)
        counts = re.search(r"loaded (\d+) compiled (\d+) stored (\d+)", done.stdout)
        self.loaded, self.compiled, self.stored = map(int, counts.groups()) if counts else (None, None, None)
        self.output = done.stdout


class KernelCache(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = Run("off").bits
        assert cls.expected, "the probe does not run without a cache"

    def setUp(self):
        self.cache = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="pellucid_cache_")))
        self.folder = self.cache / "kernels"

    def entries(self):
        return sorted(self.folder.glob("*.kernels"))

    def run_probe(self, *args, **options):
        run = Run(self.cache, *args, **options)
        self.assertEqual(run.code, 0, run.log)
        if not args:
            self.assertEqual(run.bits, self.expected)
        return run

    def filled(self):
        run = self.run_probe()
        self.assertEqual((run.loaded, run.stored), (0, run.compiled))
        self.assertGreater(run.stored, 2)
        return run

    def verify(self):
        return subprocess.run([PELLUCID, "cache", "verify"], env={**os.environ, "PELLUCID_CACHE": str(self.cache)},
                              capture_output=True, text=True, timeout=60)

    def test_a_second_process_compiles_nothing(self):
        first, second = self.filled(), self.run_probe()
        self.assertEqual((second.loaded, second.compiled, second.stored), (first.compiled, 0, 0))
        self.assertEqual(oct(self.folder.stat().st_mode & 0o777), "0o700")
        for file in self.folder.iterdir():
            self.assertEqual(oct(file.stat().st_mode & 0o777), "0o600", file)
        self.assertEqual(self.verify().returncode, 0)

    def test_off_writes_nothing(self):
        with tempfile.TemporaryDirectory() as home:
            environment = {**os.environ, "PELLUCID_CACHE": "off", "XDG_CACHE_HOME": home}
            subprocess.run([PROBE, "run"], env=environment, check=True, capture_output=True, timeout=60)
            self.assertEqual(os.listdir(home), [])

    def test_another_number_of_threads_finds_the_entries(self):
        self.filled()
        environment = {**os.environ, "PELLUCID_CACHE": str(self.cache), "PELLUCID_THREADS": "1"}
        done = subprocess.run([PROBE, "run"], env=environment, capture_output=True, text=True, timeout=60, check=True)
        self.assertIn("compiled 0", done.stdout)

    def test_killed_while_it_writes(self):
        self.filled()
        seed = int(os.environ.get("PELLUCID_SEED", random.randrange(2**32)))
        delays = random.Random(seed)
        environment = {**os.environ, "PELLUCID_CACHE": f"{self.cache},16M", "PELLUCID_THREADS": "2"}
        number = 0
        # About one kill in eight cuts a write: a few kills may cut none, so a small share goes on until one does.
        while number < KILLS or (number < 200 and not list(self.folder.glob(".unfinished*"))):
            number += 1
            with subprocess.Popen([PROBE, "forever"], env=environment, stdout=subprocess.PIPE, text=True) as writer:
                writer.stdout.readline()  # it writes now
                time.sleep(delays.random() * 0.03)
                writer.send_signal(signal.SIGKILL)
            checked = self.verify()
            self.assertEqual(checked.returncode, 0, f"kill {number}, PELLUCID_SEED={seed}: {checked.stdout}")
        unfinished = list(self.folder.glob(".unfinished*"))
        print(f"{number} kills: {len(self.entries())} entries, all valid; {len(unfinished)} writes were cut")
        self.assertGreater(len(unfinished), 0)
        self.run_probe()
        for file in unfinished:  # later writers remove what is old
            os.utime(file, (time.time() - 3600,) * 2)
        for entry in self.entries():
            entry.unlink()
        self.filled()
        self.assertEqual(list(self.folder.glob(".unfinished*")), [])

    def test_the_disk_is_full(self):
        limit = 3000  # bytes a file may have: some entries fit, others do not
        def no_space():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        run = self.run_probe(preexec_fn=no_space)
        self.assertIn("is not stored: cannot write", run.log)
        self.assertEqual(list(self.folder.glob(".unfinished*")), [])
        self.assertEqual(self.verify().returncode, 0)

    def test_a_read_only_directory(self):
        options = {"user": NOBODY} if os.geteuid() == 0 else {}
        self.cache.chmod(0o555)
        run = self.run_probe(**options)
        self.cache.chmod(0o755)
        self.assertEqual((run.loaded, run.stored), (0, 0))
        self.assertRegex(run.log, "is not stored: cannot make .*Permission denied")

    def test_a_directory_of_another_user(self):
        self.filled()
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            self.assertRegex(self.run_probe().log, "belongs to another user")
        self.assertEqual(self.run_probe().loaded == 0, os.geteuid() == 0)

    def test_a_directory_that_others_may_enter(self):
        self.filled()
        self.folder.chmod(0o755)
        run = self.run_probe()
        self.assertEqual((run.loaded, run.stored), (0, 0))
        self.assertIn("other users may enter", run.log)

    def refused(self, change, reason):
        """Changes one entry; it must be compiled again, and then be valid."""
        count = self.filled().compiled
        entry = self.entries()[0]
        change(entry)
        run = self.run_probe()
        self.assertEqual((run.compiled, run.loaded, run.stored), (1, count - 1, 1), run.log)
        self.assertRegex(run.log, f"{entry.name} is compiled: {reason}")
        self.assertEqual(self.run_probe().compiled, 0)

    def test_planted(self):
        def plant(entry):
            """What another user's cache holds, under the same name and valid there."""
            with tempfile.TemporaryDirectory() as other:
                Run(other)
                shutil.copy(pathlib.Path(other) / "kernels" / entry.name, entry)
        self.refused(plant, "it is damaged, or another key wrote it")

    def test_another_entry_under_its_name(self):
        self.refused(lambda entry: shutil.copy(self.entries()[1], entry), "it is the entry of other kernels")

    def test_symbolic_link(self):
        def link(entry):
            entry.rename(self.cache / "elsewhere")
            entry.symlink_to(self.cache / "elsewhere")
        self.refused(link, "it is a link")

    def test_hard_link(self):
        self.refused(lambda entry: os.link(entry, self.cache / "second"), "it has a second name")

    def test_pipe(self):
        def pipe(entry):
            entry.unlink()
            os.mkfifo(entry)
        self.refused(pipe, "it is not a regular file")

    def test_others_may_write(self):
        self.refused(lambda entry: entry.chmod(0o602), "other users may write it")

    def test_cut(self):
        for size in (0, 50, 200):
            with self.subTest(size=size):
                shutil.rmtree(self.folder, ignore_errors=True)
                self.refused(lambda entry, size=size: os.truncate(entry, size), "it is (too short|damaged)")

    def test_an_entry_that_is_a_directory(self):
        self.filled()
        entry = self.entries()[0]
        entry.unlink()
        entry.mkdir()
        self.assertEqual(self.run_probe().compiled, 1)
        self.assertRegex(self.run_probe().log, f"{entry.name} is not stored: cannot rename")

    def test_every_flipped_byte(self):
        run = self.run_probe("flips")
        print(run.output.strip())

    def test_another_key(self):
        for damage in (lambda key: key.unlink(), lambda key: key.write_bytes(b"short"), lambda key: key.write_bytes(bytes(32))):
            shutil.rmtree(self.folder, ignore_errors=True)
            count = self.filled().compiled
            damage(self.folder / "key")
            self.assertEqual(self.run_probe().compiled, count)
            self.assertEqual(self.run_probe().compiled, 0)

    def test_another_processor(self):
        if "avx512f" not in pathlib.Path("/proc/cpuinfo").read_text():
            self.skipTest("this processor has no AVX-512")
        wide = self.run_probe(isa="avx512")
        before = set(self.entries())
        narrow = self.run_probe(isa="avx2")
        self.assertEqual((narrow.loaded, narrow.compiled), (0, wide.compiled))
        self.assertEqual(narrow.bits, wide.bits)
        self.assertEqual(len(self.entries()), 2 * len(before))

    def test_eight_processes(self):
        environment = {**os.environ, "PELLUCID_CACHE": f"{self.cache},64K", "PELLUCID_THREADS": "2"}
        for _ in range(3):
            running = [subprocess.Popen([PROBE, "run", "40"], env=environment, stdout=subprocess.PIPE, text=True)
                       for _ in range(8)]
            outputs = [process.communicate(timeout=120)[0] for process in running]
            self.assertEqual({process.returncode for process in running}, {0})
            self.assertEqual(len({re.search(r"bits \w+", output)[0] for output in outputs}), 1)
            self.assertEqual(self.verify().returncode, 0)

    def test_the_clock_is_set_back(self):
        self.filled()
        for file in self.folder.iterdir():
            os.utime(file, (time.time() + 86400,) * 2)
        self.assertEqual(self.run_probe().compiled, 0)
        self.assertEqual(self.run_probe("run", "5").compiled, 5)
        self.assertEqual(self.run_probe("run", "5").compiled, 0)

    def test_the_least_used_entries_are_removed(self):
        limit = 64 << 10
        environment = {**os.environ, "PELLUCID_CACHE": f"{self.cache},64K", "PELLUCID_LOG": "cache"}
        command = [PROBE, "run", "96"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        self.assertIn("is removed: the cache would hold more than 65536 bytes", done.stderr)
        size = sum(entry.stat().st_size for entry in self.entries())
        self.assertLess(size, limit + 32 * max(entry.stat().st_size for entry in self.entries()))

    def test_the_command(self):
        def command(*args):
            return subprocess.run([PELLUCID, "cache", *args], env={**os.environ, "PELLUCID_CACHE": str(self.cache)},
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual(command("list").stdout.count("\n"), 1)
        count = self.filled().stored
        self.assertIn(f"{count} entries", command("size").stdout)
        self.assertIn("fmod", command("list").stdout)
        self.entries()[0].write_bytes(b"x")
        checked = command("verify")
        self.assertEqual(checked.returncode, 5)
        self.assertIn(f"{count - 1} of {count} entries can be used", checked.stdout)
        self.assertEqual(command("clear").stdout, f"removed {count} entries\n")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
