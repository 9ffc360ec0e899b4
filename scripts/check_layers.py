#!/usr/bin/env python3
"""Checks the #include lines under src/ and doctor/ against src/LAYERS, and keeps each big library inside its one folder.

With --self-test it first proves on small trees, each with one error, that it can fail.
"""
import re
import sys

from project_files import ROOT, self_test_tree

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
GENERATED = {"op_names.h"}

# Only .cc files of the folder may include headers that match the pattern.
HOMES = [
    (re.compile(r"llvm(-c)?/"), "src/codegen/llvm"),
    (re.compile(r"oneapi/|dnnl"), "src/backends/cpu/onednn"),
    (re.compile(r"sodium"), "src/saved/sodium"),
    (re.compile(r"CL/"), "src/backends/opencl"),
    (re.compile(r"(arrow|parquet)/"), "doctor/fleet/arrow"),
    (re.compile(r"cuda|cublas|cudnn|cupti|nvrtc|nccl"), "src/backends/cuda"),
]

# doctor/ is one layer. Its folders may include each other, except these, which may be included only by the folders listed.
DOCTOR_INCLUDED_BY = {
    "fleet": {"fleet", "tool", "tests"},
    "tool": {"tool"},
    "tests": {"tests", "fuzz"},
    "fuzz": {"fuzz"},
}
DOCTOR_PUBLIC = {"pellucid/error.h"}  # of the public headers, the one that src/base implements
DOCTOR_TESTS = {"tests", "fuzz"}  # may also include tests/support


def read_layers(root, problems):
    """Returns {folder: the folders it may include}."""
    allowed = {}
    for number, line in enumerate((root / "src/LAYERS").read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        folder, _, names = line.partition(":")
        for name in names.split():
            if name not in allowed:
                problems.append(f"src/LAYERS:{number}: {name} is not listed above {folder}: "
                                "reorder the lines or drop the name")
        allowed[folder] = set(names.split())
    return allowed


def check_layer(folder, bracket, header, allowed):
    first = header.split("/")[0]
    if first == folder or first == "pellucid" or header in GENERATED:
        return None
    if first in allowed:
        if first in allowed[folder]:
            return None
        may = " ".join(sorted(allowed[folder])) or "no other folder"
        return f'{folder} may not include "{header}"; src/LAYERS lets it include: {may}'
    if bracket == '"':
        return f'"{header}" is not in a folder of src/: write the path from src/, or <> for another library'
    return None


def check_doctor(folder, bracket, header, allowed):
    """`folder` is the one below doctor/."""
    first, *rest = header.split("/")
    if header in DOCTOR_PUBLIC or (first == "support" and folder in DOCTOR_TESTS):
        return None
    if first == "pellucid":
        return f"doctor may not include {header}; of the public headers it sees only: {' '.join(sorted(DOCTOR_PUBLIC))}"
    if first == "doctor" and len(rest) > 1:
        if folder not in DOCTOR_INCLUDED_BY.get(rest[0], {folder}):
            return f"doctor/{folder} may not include {header}: doctor/{rest[0]} is not for the library"
        return None
    return check_layer("doctor", bracket, header, allowed)


def check_home(name, header):
    for pattern, home in HOMES:
        if pattern.match(header) and not (name.startswith(home + "/") and name.endswith(".cc")):
            return f"{header} may be included only by .cc files of {home}/: reach it through that folder"
    return None


def check(root):
    problems = []
    allowed = read_layers(root, problems)
    for path in sorted(path for top in ("src", "include", "doctor") for path in (root / top).rglob("*.*")):
        if path.suffix not in (".cc", ".h"):
            continue
        name = path.relative_to(root).as_posix()
        top, folder = name.split("/")[:2]
        if top == "src" and folder not in allowed:
            problems.append(f"{name}: src/LAYERS has no line for {folder}: add one")
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            bracket, header = match.groups()
            line = text.count("\n", 0, match.start(2)) + 1
            found = [check_home(name, header)]
            if top == "src":
                found.append(check_layer(folder, bracket, header, allowed))
            if top == "doctor":
                found.append(check_doctor(folder, bracket, header, allowed))
            problems += [f"{name}:{line}: {problem}" for problem in found if problem]
    return problems


def self_test():
    layers = "base:\ntensor: base\nbackends: base tensor\ncodegen: base\ndoctor: base\n"
    cases = [  # file, its text, what the only message must contain; None: no message
        ("src/tensor/a.cc", '#include "base/b.h"\n#include "tensor/c.h"\n#include "pellucid/d.h"\n', None),
        ("src/tensor/a.cc", '#include <vector>\n#include <fmt/format.h>\n#include "op_names.h"\n', None),
        ("src/base/a.h", '// first\n#include "tensor/b.h"\n', "src/base/a.h:2: base may not include"),
        ("src/base/a.h", "  # include <tensor/b.h>\n", "base may not include"),
        ("src/tensor/a.cc", '#include "../base/b.h"\n', "write the path from src/"),
        ("src/tensor/a.cc", '#include "c.h"\n', "write the path from src/"),
        ("src/extra/a.cc", "\n", "no line for extra"),
        ("src/LAYERS", "base: tensor\ntensor:\n", "is not listed above"),
        ("src/codegen/llvm/a.cc", "#include <llvm/IR/Module.h>\n", None),
        ("src/codegen/llvm/a.h", "#include <llvm/IR/Module.h>\n", "only by .cc files of src/codegen/llvm/"),
        ("src/codegen/a.cc", "#include <llvm/IR/Module.h>\n", "only by .cc files of src/codegen/llvm/"),
        ("src/backends/cpu/onednn/a.cc", "#include <oneapi/dnnl/dnnl.hpp>\n", None),
        ("src/tensor/a.cc", "#include <dnnl.hpp>\n", "only by .cc files of src/backends/cpu/"),
        ("src/backends/cpu/onednn/a.cc", "#include <CL/cl.h>\n", "only by .cc files of src/backends/opencl/"),
        ("src/tensor/a.cc", "#include <parquet/arrow/writer.h>\n", "only by .cc files of doctor/fleet/arrow/"),
        ("doctor/fleet/arrow/a.cc", "#include <parquet/arrow/writer.h>\n", None),
        ("doctor/model/a.cc", '#include "base/b.h"\n#include "doctor/names/c.h"\n#include "pellucid/error.h"\n', None),
        ("doctor/model/a.cc", '#include "tensor/b.h"\n', "doctor may not include"),
        ("doctor/model/a.cc", '#include "pellucid/tensor.h"\n', "doctor may not include"),
        ("doctor/model/a.cc", '#include "doctor/tests/b.h"\n', "doctor/tests is not for the library"),
        ("doctor/model/a.cc", '#include "doctor/fleet/b.h"\n', "doctor/fleet is not for the library"),
        ("doctor/model/a.cc", '#include "support/random.h"\n', "not in a folder"),
        ("doctor/tool/a.cc", '#include "doctor/fleet/b.h"\n#include "doctor/tool/c.h"\n', None),
        ("doctor/tests/a.cc", '#include "support/random.h"\n#include "doctor/tests/c.h"\n', None),
        ("doctor/tests/a.cc", '#include "doctor/tool/c.h"\n', "doctor/tool is not for the library"),
        ("include/pellucid/a.h", "#include <cuda_runtime.h>\n", "only by .cc files of src/backends/cuda/"),
    ]
    for name, text, expected in cases:
        self_test_tree({"src/LAYERS": layers, name: text}, check, expected)


if __name__ == "__main__":
    if "--self-test" in sys.argv:
        self_test()
    found = check(ROOT)
    print("\n".join(found) or "layers: fine")
    sys.exit(bool(found))
