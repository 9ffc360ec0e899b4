#!/usr/bin/env python3
"""Checks pellucid-doctor: its size without symbols, linked to neither LLVM nor oneDNN nor Arrow, and says what pellucid doctor says.

    check_program.py PELLUCID_DOCTOR PELLUCID STRIP [MAX_BYTES]

Without MAX_BYTES any size will do: a sanitizer's runtime is most of a program that carries one.
"""
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRACE = Path(__file__).resolve().parents[2] / "tests/inspect/launches.json"
FOREIGN = ("LLVM", "dnnl", "gomp", "libpellucid", "arrow", "parquet")


def run(program, *words):
    ran = subprocess.run([program, *words], capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def watch_problems(doctor):
    """Traces that are written to a folder are diagnosed, one after the other; what was there before is not."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "old.json").write_bytes(TRACE.read_bytes())
        watching = subprocess.Popen([doctor, "--watch", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said = watching.stderr.readline()
            if "waiting for traces" not in said:
                problems.append(f"--watch: it says {said!r}")
            for name in ("first.json", "broken.json", "second.json"):
                text = TRACE.read_bytes()
                (Path(folder) / name).write_bytes(b"[" if name == "broken.json" else text)
            seen = ""
            end = time.monotonic() + 30
            while time.monotonic() < end and not ("first.json" in seen and "second.json" in seen and seen.count("--full shows") == 2):
                seen += watching.stdout.readline()
            if "first.json" not in seen or "second.json" not in seen or "old.json" in seen:
                problems.append(f"--watch: it shows {seen!r}")
        finally:
            watching.kill()
            watching.communicate()
    code, out, err = run(doctor, "--watch", "nowhere")
    if code != 3 or out or "nowhere is not a folder" not in err:
        problems.append(f"--watch nowhere: {code} {out!r} {err!r}")
    return problems


def main():
    doctor, pellucid, strip, *max_bytes = sys.argv[1:]
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "stripped"
        subprocess.run([strip, "-o", stripped, doctor], check=True)
        size = stripped.stat().st_size
    if max_bytes and size > int(max_bytes[0]):
        problems.append(f"{size} bytes without symbols, more than {max_bytes[0]}")
    libraries = run("ldd", doctor)[1]
    problems += [f"it links {name}:\n{libraries}" for name in FOREIGN if name in libraries]
    for words in ([TRACE], [TRACE, "--json"], [TRACE, TRACE], [TRACE, "--expect", "kernels == 12"],
                  [TRACE, "--expect", "kernels == 5", "--json"], [TRACE, "--full"], [TRACE, "--markdown", "-"]):
        own, same = run(doctor, *words), run(pellucid, "doctor", *words)
        if own != same:
            problems.append(f"{words}: it says {own}, and pellucid doctor {same}")
        if not own[1]:
            problems.append(f"{words}: it says nothing")
    code, out, err = run(doctor, "--expect", "kernels == 5")
    if code != 2 or out or not err.startswith("pellucid-doctor: "):
        problems.append(f"without a trace: {code} {out!r} {err!r}")
    with tempfile.TemporaryDirectory() as folder:  # a copy next to which there is no module for tables
        alone = Path(folder) / "pellucid-doctor"
        alone.write_bytes(Path(doctor).read_bytes())
        alone.chmod(0o755)
        tables = Path(folder) / "tables"
        code, out, err = run(alone, TRACE, "--rank", "0", "--parquet", tables)
        if code != 2 or out or "there is no libpellucid_parquet.so" not in err or tables.exists():
            problems.append(f"--parquet without its module: {code} {out!r} {err!r}")
    code, out, err = run(doctor, "nowhere/1.json", "nowhere/2.json")
    expected = [f"pellucid-doctor: E12 file: nowhere/{i}.json cannot be opened: No such file or directory" for i in (1, 2)]
    if code != 3 or out or err.splitlines() != expected:
        problems.append(f"two traces that are not there: {code} {out!r} {err!r}")
    problems += watch_problems(doctor)
    for problem in problems:
        print(problem)
    print(f"doctor_program: {size} bytes, {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
