#!/usr/bin/env python3
"""Compares the output and the errors of every command with tests/inspect/golden/*.txt.

A golden file has one or more cases:

    $ pellucid ops softmax            the command line; $SOURCE and $BUILD are the two trees
    exit 2                            if it is not 0; with 2, 3 and 4 stderr follows, and stdout is empty
                                      (1 and 5 have a report on stdout)
    drop onednn                       lines that match the regular expression are ignored: not every build prints them
    needs lib/libpellucid_parquet.so  the case runs if the build has this file: with sanitizers it has no Parquet
    ...                               the output up to the next case, with variable parts masked

With --json the schema follows instead of the output: each field and its type. Masked are times, rates, shares, amounts
with a unit, numbers with a decimal point in their own column, how an anatomy was measured, bars and plots. PELLUCID_WRITE_DOCS=1 writes the output
into the files, and docs/man/pellucid.1. A command without a case is an error.

Every output must fit 100 columns and be free of escape codes in a pipe; at a terminal it has colours, unless NO_COLOR
is set, and says the same.
"""
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts"))
from pseudo_terminal import run_at_terminal  # noqa: E402: it is in another folder

GOLDEN = SOURCE / "tests/inspect/golden"
MANUAL = SOURCE / "docs/man/pellucid.1"
COLUMNS = 100
WRITES = "PELLUCID_WRITE_DOCS" in os.environ
# Where a document is not named after its command.
SCHEMAS = {"name": ["kernel_name"], "fleet": ["fleet", "fleet_report"], "explain": ["explain", "compare", "compile"]}
UNCOLOURED = {"completion", "man", "--help", "--version"}  # scripts, roff, and what CLI11 prints

CPU = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)[1]
# Roofs of no machine in particular, so that what bounds a kernel is the same on each.
ROOFS = f"""pellucid machine 1
cpu {CPU}
isa avx2
threads 1
level L1 32768 200
level L2 2097152 100
level L3 33554432 40
level memory 0 10
peak f32 80 fused multiply-add of 256 bits
peak f64 40 fused multiply-add of 256 bits
"""
NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
MASKS = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"[▏▎▍▌▋▊▉█░▒▓]+"), "▇"),
    (re.compile(r"(?:^.*[│┤].*\n)+", re.MULTILINE), "<plot>\n"),
    (re.compile(rf"{NUMBER} ?(?:ns|µs|ms|s)(?![\w/])"), "<time>"),
    (re.compile(rf"{NUMBER} ?(?:[kMGT]?B|[KMGT]iB)(?![\w/])"), "<bytes>"),
    (re.compile(rf"{NUMBER} ?(?:[kMGT]?B/s|[KMGT]?FLOP/s|FLOPs?/B|FLOPs?/byte)"), "<rate>"),
    (re.compile(rf"{NUMBER} ?[%×](?!\w)"), "<share>"),
    (re.compile(r"(?<=\s)\d+\.\d+(?=\s)"), "<number>"),
    (re.compile(r"[─-]{4,}"), "----"),
    (re.compile(r"[ \t]+"), " "),  # widths follow the numbers
    (re.compile(r"(?<=\S) (?:difference|profiled) (?=<time>|–)"), " <how> "),  # whichever has the smaller error
]


def masked(text, build):
    text = text.replace(str(build), "$BUILD").replace(str(SOURCE), "$SOURCE").replace(CPU, "$CPU")
    for pattern, by in MASKS:
        text = pattern.sub(by, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def outline(value, at=""):
    """Fields and types of a JSON document, in order: levels[].bytes: number."""
    if isinstance(value, dict):
        lines = []
        for key, inner in value.items():
            lines += [f'schema: "{inner}"'] if (at, key) == ("", "schema") else outline(inner, f"{at}.{key}".lstrip("."))
        return lines
    if isinstance(value, list):
        return list(dict.fromkeys(line for inner in value for line in outline(inner, at + "[]")))
    kinds = {bool: "true or false", int: "number", float: "number", str: "text", type(None): "null"}
    return [f"{at}: {kinds[type(value)]}"]


class Case:
    def __init__(self, lines):
        self.head = [lines[0]]
        self.words = shlex.split(lines[0][2:])
        self.exit, self.drop, self.needs = 0, None, "."
        rest = lines[1:]
        while rest and (found := re.fullmatch(r"(exit|drop|needs) (.+)", rest[0])):
            self.head.append(rest.pop(0))
            if found[1] == "exit":
                self.exit = int(found[2])
            elif found[1] == "needs":
                self.needs = found[2]
            else:
                self.drop = re.compile(found[2])
        while rest and not rest[-1]:
            rest.pop()
        self.expected = rest
        self.command = next((word for word in self.words[1:] if word in UNCOLOURED or word[0] != "-"), "")
        self.has_report = self.exit not in {2, 3, 4}
        self.wants_json = "--json" in self.words and self.has_report
        self.is_coloured = UNCOLOURED.isdisjoint(self.words)


class Cli:
    def __init__(self, program, build):
        self.program, self.build, self.problems, self.left_out = program, build, [], []
        self.roofs = build / "cli_machine.txt"
        own = {name: text for name, text in os.environ.items() if not name.startswith("PELLUCID_") and name != "NO_COLOR"}
        # One thread and AVX2, so that names of kernels are the same on every machine.
        self.environment = own | {"PELLUCID_MACHINE": str(self.roofs), "PELLUCID_CACHE": "off",
                                  "PELLUCID_ISA": "avx2", "PELLUCID_THREADS": "1", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}

    def arguments(self, case):
        words = [word.replace("$SOURCE", str(SOURCE)).replace("$BUILD", str(self.build)) for word in case.words[1:]]
        return [self.program, *words]

    def run(self, case, **more):
        ran = subprocess.run(self.arguments(case), env=self.environment | more, cwd=self.build, capture_output=True)
        return ran.returncode, ran.stdout.decode(), ran.stderr.decode()

    def run_at_terminal(self, case, **more):
        """Stdout is a terminal; stderr is not."""
        return run_at_terminal(self.arguments(case), self.environment | more, self.build)[1]

    def lines(self, case, text):
        lines = masked(text, self.build).splitlines()
        return [line for line in lines if not (case.drop and case.drop.search(line))]

    def fault(self, case, message):
        self.problems.append(f"{case.head[0]}\n    {message}")

    def check(self, case):
        """Returns what the file should say."""
        self.roofs.write_text(ROOFS, encoding="utf-8")
        code, out, err = self.run(case)
        if code != case.exit:
            self.fault(case, f"exit code {code}, not {case.exit}\n{err}")
            return case.expected
        if not case.has_report:
            if out:
                self.fault(case, f"an error, and yet stdout has {out!r}")
            if len(err.splitlines()) < 1 or "pellucid" not in err.splitlines()[0]:
                self.fault(case, f"stderr does not begin with who speaks: {err!r}")
            return self.lines(case, err)
        if "\x1b" in out:
            self.fault(case, "escape codes in a pipe")
        if case.wants_json:
            document = json.loads(out)
            if document.get("schema") not in [f"pellucid.{name}/1" for name in SCHEMAS.get(case.command, [case.command])]:
                self.fault(case, f"schema is {document.get('schema')!r}")
            return outline(document)
        for number, line in enumerate(out.splitlines(), 1):
            if len(line) > COLUMNS and case.command not in {"completion", "man"}:
                self.fault(case, f"line {number} has {len(line)} columns: {line}")
        self.check_colours(case, self.lines(case, out))
        return self.lines(case, out)

    def check_colours(self, case, plain):
        coloured = self.run_at_terminal(case)
        if self.lines(case, coloured) != plain:
            self.fault(case, "says something else at a terminal than in a pipe")
        if ("\x1b[" in coloured) != case.is_coloured:
            self.fault(case, "has colours at a terminal" if "\x1b[" in coloured else "has no colours at a terminal")
        if "\x1b" in self.run_at_terminal(case, NO_COLOR="1"):
            self.fault(case, "NO_COLOR does not turn colours off")

    def check_file(self, path):
        text = path.read_text(encoding="utf-8")
        cases = [Case(part.splitlines()) for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE) if part.strip()]
        written = []
        for case in cases:
            if (self.build / case.needs).exists():
                is_now = self.check(case)
            else:
                is_now = case.expected
                self.left_out.append(f"not run: {case.head[0]}: the build has no {case.needs}")
            if is_now != case.expected and not WRITES:
                difference = "\n    ".join(difflib.unified_diff(case.expected, is_now, "golden", "now", lineterm=""))
                self.fault(case, f"tests/inspect/golden/{path.name} says otherwise\n    {difference}")
            written.append("\n".join([*case.head, *is_now]) + "\n")
        if WRITES:
            path.write_text("\n".join(written), encoding="utf-8")
        return cases

    def check_manual(self):
        manual = subprocess.run([self.program, "man"], env=self.environment, capture_output=True, text=True).stdout
        if WRITES:
            MANUAL.parent.mkdir(exist_ok=True)
            MANUAL.write_text(manual, encoding="utf-8")
        elif not MANUAL.is_file() or MANUAL.read_text(encoding="utf-8") != manual:
            self.problems.append("docs/man/pellucid.1 is not what pellucid man prints")

    def commands(self):
        text = subprocess.run([self.program, "--help"], env=self.environment, capture_output=True, text=True).stdout
        return re.findall(r"^  (\w+) ", text.partition("\nCommands:\n")[2], re.MULTILINE)

    def check_bash(self):
        """What bash offers after a line, with the script that the program prints."""
        lines = {"pellucid ": {*self.commands(), "--json", "--help"}, "pellucid mach": {"machine"},
                 "pellucid explain matmul 1 2 3 --dtype b": {"bf16", "bool"}, "pellucid explain m": {"matmul"},
                 "pellucid completion ": {"bash", "zsh", "fish"}, "pellucid machine --a": {"--again"},
                 "pellucid --json ops --h": {"--help"}}
        for line, wanted in lines.items():
            script = f"""source <({shlex.quote(self.program)} completion bash)
                COMP_WORDS=({line} {"''" if line.endswith(" ") else ""}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
                _pellucid; echo "${{COMPREPLY[@]}}" """
            ran = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True, text=True)
            if not wanted <= set(ran.stdout.split()) or ran.stderr:
                self.problems.append(f"bash completes {line!r} by {ran.stdout!r}, not {wanted} {ran.stderr}")

    def check_all_have_cases(self, cases):
        seen = {(case.command, "--json" in case.words) for case in cases if case.has_report}
        for command in self.commands():
            for wants_json in (False,) if command in UNCOLOURED else (False, True):
                if (command, wants_json) not in seen:
                    self.problems.append(f"pellucid {command}{' --json' * wants_json} has no case in tests/inspect/golden")


def main():
    cli = Cli(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve())
    wanted = sys.argv[3:]
    cases = []
    for path in sorted(GOLDEN.glob("*.txt")):
        if not wanted or path.stem in wanted:
            cases += cli.check_file(path)
    if not wanted:
        cli.check_manual()
        cli.check_bash()
        cli.check_all_have_cases(cases)
    for line in [*cli.left_out, *cli.problems]:
        print(line)
    if cli.problems:
        print("rewrite what is meant to change: PELLUCID_WRITE_DOCS=1 ./dev test '^cli$'")
    print(f"cli: {len(cases)} cases, {len(cli.problems)} problems")
    return bool(cli.problems)


if __name__ == "__main__":
    sys.exit(main())
