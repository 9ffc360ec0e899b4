#!/usr/bin/env python3
"""Saved plans in processes that link libpellucid-runtime alone: the same bits and tokens, no LLVM, a small library.

runtime.py WRITE_PLANS RUN_PLAN LIBRARY [ANSWERS]. With ANSWERS, the folder of the results of peers for tests/pretrained, the
decode step is that of SmolLM2.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

WRITE, RUN, LIBRARY = sys.argv[1:4]
ANSWERS = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
MAX_BYTES = 6_000_000  # decision 0047


def run(*args, isa=None):
    environment = {**os.environ, **({"PELLUCID_ISA": isa} if isa else {})}
    return subprocess.run([RUN, *map(str, args)], env=environment, capture_output=True, text=True, timeout=600)


class Runtime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="pellucid_plans_")
        cls.folder = pathlib.Path(cls.temporary.name)
        model = []
        if ANSWERS and (ANSWERS / "smollm2.path").exists():
            model = [(ANSWERS / "smollm2.path").read_text().strip(), ANSWERS / "greedy.safetensors"]
        subprocess.run([WRITE, cls.folder, *model], check=True, timeout=600)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_the_bits_are_those_of_the_library(self):
        for isa in (None, "avx2"):
            for name in ("blocks", "referring"):
                done = run("bits", self.folder / f"{name}.pel", self.folder / f"{name}.cases", isa=isa)
                self.assertEqual((done.returncode, done.stdout), (0, "3 calls, 0 differ\n"), done.stderr)

    def test_it_says_which_instruction_set_is_missing(self):
        done = run("bits", self.folder / "avx512.pel", self.folder / "avx512.cases", isa="avx2")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertRegex(done.stderr, "E12 file: .*avx512.pel: its kernels are compiled for avx512, and this processor has avx2")

    def test_a_decode_step_generates_the_same_tokens(self):
        expected = (self.folder / "expected").read_text()
        done = run("decode", self.folder / "decode.pel", self.folder / "sizes", self.folder / "prompt", 24)
        self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)
        print(f"{(self.folder / 'decode.pel').stat().st_size} bytes, {done.stderr.strip()}")

    def test_the_process_has_no_compiler(self):
        listed = subprocess.run(["ldd", RUN], check=True, capture_output=True, text=True).stdout
        self.assertIn("libpellucid-runtime.so", listed)
        for name in ("LLVM", "dnnl", "gomp", "libpellucid.so"):
            self.assertNotIn(name, listed)

    def test_the_library_is_small(self):
        stripped = self.folder / "stripped.so"
        subprocess.run(["strip", "-o", stripped, LIBRARY], check=True)
        size = stripped.stat().st_size
        print(f"{size} bytes stripped")
        self.assertLessEqual(size, MAX_BYTES)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
