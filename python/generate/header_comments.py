"""Reads what the public headers say about each op."""
import re

DECLARATION = re.compile(r"PEL_API [^;{]*?\b(\w+)\(")
FORM = re.compile(r"PEL_(?:UNARY|BINARY)(?:_PLAIN|_OUT|)\((\w+)\)")
CPP_NAMES = {"stddev": "std"}  # functions whose op has another name


def op_name(function):
    """The registry's name of a C++ function: add_out is add.out."""
    function = CPP_NAMES.get(function, function)
    return function[:-4] + ".out" if function.endswith("_out") else function


def comments_of(text):
    """Yields (op, comment) for each declaration. A comment belongs to all declarations up to the next one or an empty line;
    one at the end of a declaration belongs to that alone."""
    block, lines, is_open = [], [], False  # is_open: the last line was part of a comment
    for line in text.splitlines() + [""]:
        stripped = line.strip()
        if not lines and stripped.startswith("//"):
            block = [*block, stripped[2:].strip()] if is_open else [stripped[2:].strip()]
            is_open = True
            continue
        is_open = False
        if not stripped:
            block, lines = [], []
            continue
        if lines or stripped.startswith("PEL_API") or FORM.match(stripped):
            code, _, trailing = stripped.partition("  //")
            lines.append(code)
            declaration = " ".join(lines)
            form = FORM.match(declaration)
            if not (form or code.endswith(";")):
                continue
            name = form or DECLARATION.match(declaration)
            if name:
                yield op_name(name[1]), " ".join(filter(None, [trailing.strip(), " ".join(block)]))
            lines = []


def read_comments(include_dir):
    """Returns {op: (comment, whether it is in pel::internal)}."""
    found = {}
    for header in sorted((include_dir / "pellucid/ops").glob("*.h")):
        text = header.read_text(encoding="utf-8")
        internal_from = text.find("namespace internal {")
        for is_internal, part in ((False, text[:internal_from]), (True, text[internal_from:])) if internal_from >= 0 else (
                (False, text),):
            for name, comment in comments_of(part):
                old, _ = found.get(name, ("", is_internal))
                found[name] = (old if len(old) >= len(comment) else comment, is_internal)
    return found
