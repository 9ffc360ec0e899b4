"""Fuzzes NAME with build/PRESET/bin/fuzz_NAME, starting from its seeds and the corpus of earlier runs.

python run.py BUILD NAME [SECONDS] [-FLAG=VALUE ...]: flags are libFuzzer's; with -runs=N there is no time limit. -jobs=N
runs N processes that share the corpus, each with a log of its own.
python run.py BUILD NAME FILE: runs one input again.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import time

build, name, *rest = sys.argv[1:]
build = pathlib.Path(build)
root = pathlib.Path(__file__).resolve().parents[2]
fuzzer = build / "bin" / f"fuzz_{name}"
folder = build / "fuzz" / name
corpus, seeds = folder / "corpus", folder / "seeds"

if rest and pathlib.Path(rest[0]).is_file():
    sys.exit(subprocess.run([fuzzer, rest[0]]).returncode)

flags = [word for word in rest if word.startswith("-")]
seconds = [word for word in rest if not word.startswith("-")] or ["60"]
if not any(flag.startswith("-runs=") for flag in flags):
    flags.append(f"-max_total_time={int(seconds[0])}")
jobs = [int(flag.removeprefix("-jobs=")) for flag in flags if flag.startswith("-jobs=")] or [1]
seed = [int(flag.removeprefix("-seed=")) for flag in flags if flag.startswith("-seed=")] or [random.randrange(1, 2**30)]
flags = [flag for flag in flags if not flag.startswith(("-jobs=", "-seed="))]
for source in (root / "tests/fuzz", root / "doctor/fuzz"):
    if (dictionary := source / f"{name}.dict").exists():
        flags.append(f"-dict={dictionary}")

corpus.mkdir(parents=True, exist_ok=True)
writer = build / f"bin/fuzz_write_{name}_seeds"
subprocess.run([writer, seeds] if writer.exists() else [build / "bin/fuzz_write_seeds", name, seeds], check=True)
before = set(folder.iterdir())
# No input of 6 KB needs an allocation of 64 MB, except zstd with a window of 128 MB.
max_mb = {"trace": 160}.get(name, 64)
max_bytes = {"trace": 6144}.get(name, 4096)  # events are long, and a diagnosis needs several
command = [fuzzer, corpus, seeds, f"-max_len={max_bytes}", "-timeout=10", "-rss_limit_mb=2048", f"-malloc_limit_mb={max_mb}",
           "-print_final_stats=1", f"-artifact_prefix={folder}/", *flags]
# A fake stack for each frame makes every throw walk all frames: about two thirds of the time. The unit tests enable it.
# Running one input again shows whole stacks of allocations. 4 MB are freed in one diagnosis, or fewer.
options = "detect_stack_use_after_return=0:malloc_context_size=1:quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
environment = {**os.environ, "ASAN_OPTIONS": options}


def run_one():
    """Shows what the fuzzer prints."""
    one = [*command, f"-seed={seed[0]}"]
    print("run:", f"ASAN_OPTIONS={options}", *one, flush=True)
    return subprocess.run(one, env=environment).returncode


def run_many(count):
    """Ends all when one has found something. Prints how much each did."""
    logs = [folder / f"job_{i}.log" for i in range(count)]
    running = []
    for i, log in enumerate(logs):
        one = [*command, f"-seed={seed[0] + i}"]
        print("run:", f"ASAN_OPTIONS={options}", *one, ">", log, flush=True)
        running.append(subprocess.Popen(one, env=environment, stdout=log.open("w"), stderr=subprocess.STDOUT))
    status = 0
    while running and status == 0:
        time.sleep(1)
        status = next((process.returncode for process in running if process.poll()), 0)
        running = [process for process in running if process.returncode is None]
    for process in running:
        process.terminate()
        process.wait()
    executed = [re.findall(r"number_of_executed_units: (\d+)", log.read_text(errors="replace")) for log in logs]
    print("executions:", sum(int(each[-1]) for each in executed if each), flush=True)
    return status


status = run_one() if jobs[0] == 1 else run_many(jobs[0])
for found in sorted(set(folder.iterdir()) - before):
    if found.suffix != ".log":
        print(f"reproduce: ./dev fuzz {name} {found}")
sys.exit(status)
