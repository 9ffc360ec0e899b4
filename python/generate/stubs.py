"""The types of pellucid._core, for type checkers."""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pellucid"))
from _parameters import list_index, parameters_of  # noqa: E402  the same rules make inspect.signature
from _methods import METHODS  # noqa: E402

TEMPLATES = Path(__file__).resolve().parent / "templates"
RESULTS = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "Scalar": "int | float | builtins.bool"}
SHADOWED = re.compile(r"\bbool\b")  # in these modules bool is a dtype


def result_text(record):
    results = [RESULTS[result["type"]] for result in record["results"]]
    return results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"


def arguments_of(record):
    """As Op.arguments has them."""
    args = record["args"]
    at = list_index([(arg["type"], arg["keyword_only"]) for arg in args])
    return [("from_" if arg["name"] == "from" else arg["name"], arg["type"], arg["default"] is not None, arg["default"],
             arg["keyword_only"], i == at) for i, arg in enumerate(args)]


def parameters_text(record, has_out, is_method=False):
    texts, is_keyword = [], False
    parameters = parameters_of(arguments_of(record), has_out)
    for i, parameter in enumerate(parameters):
        if is_method and i == 0:
            texts.append("self")
            continue
        if parameter.kind == "variadic":
            texts.append(f"*{parameter.name}: {parameter.annotation}")
            is_keyword = True
            continue
        if parameter.kind == "keyword" and not is_keyword:
            texts.append("*")
            is_keyword = True
        default = f" = {parameter.default}" if parameter.has_default else ""
        texts.append(f"{parameter.name}: {parameter.annotation}{default}")
    return SHADOWED.sub("builtins.bool", ", ".join(texts))


def python_name(name):
    return name.replace(".", "_")


def is_public(name, comments):
    """Whether it is a function of the package itself, and not of pellucid.ops alone."""
    return not (name.endswith(("_", ".out")) or comments.get(name, ("", False))[1])


def filled(template, mark, lines):
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    assert mark in text, f"{template} has no line {mark!r}"
    return text.replace(mark, "\n".join(lines) + "\n")


def stubs(records, comments):
    """Returns {file: text}."""
    methods, functions = [], []
    for name, record in sorted(records.items()):
        has_out = name + ".out" in records
        result = result_text(record)
        functions.append(f"def {python_name(name)}({parameters_text(record, has_out)}) -> {result}: ...")
        if name in METHODS:
            methods.append(f"    def {name}({parameters_text(record, has_out, is_method=True)}) -> {result}: ...")
    public = [f"from pellucid.ops import {name} as {name}" for name in sorted(records) if is_public(name, comments)]
    return {"_core.pyi": filled("_core.pyi", "    # METHODS\n", methods),
            "ops.pyi": filled("ops.pyi", "# FUNCTIONS\n", functions),
            "__init__.pyi": filled("__init__.pyi", "# FUNCTIONS\n", public)}
