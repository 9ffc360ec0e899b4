#!/usr/bin/env python3
"""Validates real JSON outputs of every command against docs/schemas, with the package jsonschema.

    check_schemas.py [--python PYTHON] [--self-test] PELLUCID PELLUCID_DOCTOR BUILD

The commands are the cases of tests/inspect/golden with --json, and further ones of the doctor. A field that a schema does not describe
is an error here, though schemas allow it to readers: fields may be added under the same number. So is a schema that no output has, and
a name of a document in the sources without a schema. --python names a Python that has jsonschema, if this one has not.
"""
import argparse
import copy
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cli

SOURCE = cli.SOURCE
SCHEMAS = SOURCE / "docs/schemas"
NAMED = re.compile(r'"pellucid\.(\w+)/(\d+)"')
WRITERS = ("src", "doctor", "tools")
PARQUET = "lib/libpellucid_parquet.so"  # without this module there are no packed jobs
OF_PARQUET = {"pellucid.fleet/1", "pellucid.fleet_report/1"}


def load():
    """The schemas by the name that a document has in its field `schema`."""
    schemas = {}
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        name = schema["properties"]["schema"]["const"]
        if path.stem != name.removeprefix("pellucid.").replace("/", "-"):
            sys.exit(f"docs/schemas/{path.name} is the schema of {name}: rename it")
        schemas[name] = schema
    return schemas


def closed(schema):
    """The schema without fields that it does not describe."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part) for key, part in schema.items()}
    if "properties" in schema and isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        inner.setdefault("additionalProperties", False)
    return inner


def faults(jsonschema, schemas, document):
    schema = schemas.get(document.get("schema"))
    if schema is None:
        return [f"docs/schemas has no schema {document.get('schema')!r}"]
    found = jsonschema.Draft202012Validator(closed(schema)).iter_errors(document)
    return [f"{error.json_path}: {error.message[-200:]}" for error in found]  # the reason is at its end


def cases_of_golden(pellucid, build):
    """(how it was made, document) of each case with --json."""
    runner = cli.Cli(str(pellucid), build)
    for path in sorted(cli.GOLDEN.glob("*.txt")):
        for part in re.split(r"^(?=\$ )", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            case = cli.Case(part.splitlines()) if part.strip() else None
            if case is None or not case.wants_json and "--parquet" not in case.words and "pack" not in case.words:
                continue
            if not (build / case.needs).exists():
                print(f"not run: {case.head[0]}: the build has no {case.needs}")
                continue
            runner.roofs.write_text(cli.ROOFS, encoding="utf-8")
            code, out, err = runner.run(case)
            if code != case.exit:
                sys.exit(f"{case.head[0]}: exit code {code}\n{err}")
            if case.wants_json:
                yield case.head[0], json.loads(out)


def further(pellucid, doctor, build, folder):
    """Documents that the golden cases do not have: many ranks, a summary, a comparison, real traces, jobs that a case has packed."""
    small = SOURCE / "tests/inspect/launches.json"
    torch = SOURCE / "tests/inspect/torch_cpu.json.gz"
    broken = folder / "broken.json"
    broken.write_text(small.read_text(encoding="utf-8").replace('"ph": "X"', '"ph": X"', 1), encoding="utf-8")
    summary = folder / "main.summary.json"
    commands = [[doctor, small, "--summary", summary, "--json"], [doctor, small, "--before", summary, "--json"],
                [doctor, torch, "--json"], [doctor, "--ranks", small, small, "--json"], [doctor, broken, "--json"],
                [doctor, small, "nowhere.json", "--json"], [doctor, small, "--what-if", "dispatch=0.5", "--json"],
                [pellucid, "cache", "verify", "--json"], [pellucid, "ops", "softmax", "--json"]]
    if (build / PARQUET).exists():
        commands.append([pellucid, "fleet", "report", build / "cli_packed", "--json"])
    traces = os.environ.get("PELLUCID_TRACES")
    if traces:
        commands += [[doctor, trace, "--json"] for trace in sorted(Path(traces).rglob("*.json.gz"), key=lambda path: path.stat().st_size)[:8]]
    else:
        print("PELLUCID_TRACES is not set: no real traces are diagnosed")
    for command in commands:
        done = subprocess.run(command, capture_output=True, cwd=folder)
        if done.returncode not in (0, 5):
            sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr.decode()}")
        yield " ".join(Path(word).name for word in map(str, command)), json.loads(done.stdout)
    yield "a summary", json.loads(summary.read_text(encoding="utf-8"))


def names_in_sources():
    files = [path for folder in WRITERS for path in (SOURCE / folder).rglob("*.cc") if "tests" not in path.parts]
    return {f"pellucid.{name}/{number}" for path in files for name, number in NAMED.findall(path.read_text(encoding="utf-8"))}


def self_test(jsonschema, schemas, document):
    """Each change of a good document is found."""
    good = faults(jsonschema, schemas, document)
    if good:
        sys.exit(f"self-test: {good}")
    for change, expected in ((lambda d: d.pop("totals"), "is not valid under any of the given schemas"),
                             (lambda d: d["read"].update(bytes="1"), "is not of type 'integer'"),
                             (lambda d: d["read"].update(another=1), "another"),
                             (lambda d: d["verdict"].update(bound="slow"), "is not one of"),
                             (lambda d: d.update(schema="pellucid.none/1"), "no schema")):
        changed = copy.deepcopy(document)
        change(changed)
        if not any(expected in fault for fault in faults(jsonschema, schemas, changed)):
            sys.exit(f"self-test: expected {expected!r}, got {faults(jsonschema, schemas, changed)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("programs", nargs=2, type=Path, metavar="PROGRAM")
    parser.add_argument("build", type=Path)
    asked = parser.parse_args()
    try:
        import jsonschema
    except ImportError:
        if asked.python and asked.python.is_file():
            rest = ["--self-test"] * asked.self_test + [str(path) for path in (*asked.programs, asked.build)]
            os.execv(asked.python, [str(asked.python), sys.argv[0], *rest])  # without --python: once
        sys.exit("schemas: skipped: jsonschema is not installed: ./dev setup --doors installs it")

    schemas = load()
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
    problems = [f"{name} is written by the sources, and docs/schemas has no schema of it" for name in sorted(names_in_sources() - set(schemas))]
    problems += [f"docs/schemas has {name}, which the sources do not write" for name in sorted(set(schemas) - names_in_sources())]
    seen = {}
    pellucid, doctor = (program.resolve() for program in asked.programs)
    build = asked.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        for source in (cases_of_golden(pellucid, build), further(pellucid, doctor, build, Path(folder))):
            for how, document in source:
                problems += [f"{how}: {fault}" for fault in faults(jsonschema, schemas, document)]
                seen.setdefault(document.get("schema"), []).append(document)
    missing = set(schemas) - set(seen) - (set() if (build / PARQUET).exists() else OF_PARQUET)
    problems += [f"no output has the schema {name}" for name in sorted(missing)]
    if asked.self_test:
        self_test(jsonschema, schemas, next(document for document in seen["pellucid.doctor/1"] if "totals" in document))
    print("\n".join(dict.fromkeys(problems)) or f"schemas: {len(schemas)} schemas, {sum(map(len, seen.values()))} documents are fine")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
