"""Fuzzes NAME with build/PRESET/bin/fuzz_NAME, starting from its seeds and the corpus of earlier runs.

python run.py BUILD NAME [SECONDS] [-FLAG=VALUE ...]: flags are libFuzzer's; with -runs=N there is no time limit, -fork=2 runs
two processes.
python run.py BUILD NAME FILE: runs one input again.
"""
import os
import pathlib
import random
import subprocess
import sys

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
if not any(flag.startswith("-seed=") for flag in flags):
    flags.append(f"-seed={random.randrange(1, 2**31)}")
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
           "-entropic_scale_per_exec_time=1",  # prefers inputs that are quick
           "-print_final_stats=1", f"-artifact_prefix={folder}/", *flags]
# A fake stack for each frame makes every throw walk all frames: about two thirds of the time. The unit tests enable it.
# Running one input again shows whole stacks of allocations. 4 MB are freed in one diagnosis, or fewer.
options = "detect_stack_use_after_return=0:malloc_context_size=1:quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
print("run:", f"ASAN_OPTIONS={options}", *command, flush=True)
status = subprocess.run(command, env={**os.environ, "ASAN_OPTIONS": options}).returncode
for found in sorted(set(folder.iterdir()) - before):
    print(f"reproduce: ./dev fuzz {name} {found}")
sys.exit(status)
