"""Writes the files of the package that follow from the records of the ops.

    generate.py RECORDS INCLUDE_DIR OUTPUT_DIR

hot_ops.cc: direct calls of the ops in HOT. op_docs.cc: comments of the public headers. *.pyi: types for type checkers.
"""
import json
import sys
from pathlib import Path

from header_comments import read_comments
from stubs import stubs

# Ops whose plain calls go to the C++ function directly: those that models call most, of one or two tensors, or of a tensor
# and an axis.
HOT = """abs add add_ amax amin bmm clone contiguous cos detach div div_ dot eq exp ge gelu gt le log lt log_softmax matmul
maximum mean minimum mm mul mul_ mv ne neg pow reciprocal relu rsqrt sigmoid silu sin softmax sqrt square sub sub_ sum t tanh
unsqueeze""".split()


def hot_template(record):
    """The template of hot_ops.h for a call with the arguments that have no default."""
    required = [arg["type"] for arg in record["args"] if arg["default"] is None]
    return {("Tensor",): "hot_unary", ("Tensor", "Tensor"): "hot_binary", ("Tensor", "int"): "hot_with_axis"}[tuple(required)]


def hot_ops(records):
    lines = ['#include "core/hot_ops.h"', "", "namespace pel::python {", "", "const HotOp kHotOps[] = {"]
    for name in HOT:
        call = f"[](const auto&... x) -> decltype(pel::{name}(x...)) {{ return pel::{name}(x...); }}"
        lines.append(f'    {{"{name}", {hot_template(records[name])}<{call}>}},')
    lines += ["};", "const std::size_t kHotOpCount = std::size(kHotOps);", "", "}  // namespace pel::python", ""]
    return "\n".join(lines)


def op_docs(comments):
    lines = ['#include "core/op_object.h"', "", "namespace pel::python {", "", "const OpDoc kOpDocs[] = {"]
    for name, (comment, is_internal) in sorted(comments.items()):
        lines.append(f"    {{{json.dumps(name)}, {json.dumps(comment, ensure_ascii=False)}, {str(is_internal).lower()}}},")
    lines += ["};", "const std::size_t kOpDocCount = std::size(kOpDocs);", "", "}  // namespace pel::python", ""]
    return "\n".join(lines)


def main():
    records_path, include_dir, output_dir = map(Path, sys.argv[1:4])
    records = {record["name"]: record for record in json.loads(records_path.read_text(encoding="utf-8"))}
    comments = read_comments(include_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    files = {"hot_ops.cc": hot_ops(records), "op_docs.cc": op_docs(comments), **stubs(records, comments)}
    for name, text in files.items():
        (output_dir / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
