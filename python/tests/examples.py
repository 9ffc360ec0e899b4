"""Runs the examples of docs/python.md, or of another page: each block of Python is followed by the value of its last line, or by what it prints."""
import ast
import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/python.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:```\n(.*?)```\n)?", re.DOTALL)


def run(code, names, page):
    """Returns what a block of a page of that name shows."""
    tree = ast.parse(code)
    last = tree.body[-1]
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, page, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), page, "eval"), names)
    return printed.getvalue() or ("" if value is None else repr(value) + "\n")


def differences(page=PAGE):
    """Returns the number of examples, and (code, shown, got) of those that show something else."""
    names, found = {}, []
    examples = EXAMPLE.findall(page.read_text(encoding="utf-8"))
    for code, shown in examples:
        got = run(code, names, page.name)
        if got != shown:
            found.append((code, shown, got))
    return len(examples), found
