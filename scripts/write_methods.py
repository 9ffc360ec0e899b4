#!/usr/bin/env python3
"""Writes the methods of Tensor that call ops, from the declarations of the ops: x.sum(-1) is sum(x, {-1}).

An op is a method here if it is one in PyTorch, which METHODS lists. Without --write, reports whether the two files are up
to date.
"""
import argparse
import re
import subprocess
import sys

from project_files import ROOT

OPS = ROOT / "include/pellucid/ops"
DECLARATIONS = ROOT / "include/pellucid/detail/tensor_methods.inc"
DEFINITIONS = ROOT / "src/ops/shared/tensor_methods.cc"
TENSOR = ROOT / "include/pellucid/tensor.h"
CLANG_FORMAT = "clang-format-19"

METHODS = set("""
abs acos acosh add addcdiv addcmul addmm all amax amin aminmax any argmax argmin argsort asin asinh atan atan2 atanh baddbmm
bernoulli bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm ceil clamp
clamp_max clamp_min copysign cos cosh count_nonzero cummax cummin cumprod cumsum deg2rad div dot eq erf erfc erfinv exp exp2
expm1 exponential flip float_power floor floor_divide fmax fmin fmod frac gather ge gt hardshrink heaviside histc hypot index
index_put index_select isfinite isinf isnan isneginf isposinf kthvalue ldexp le lerp log log10 log1p log2 log_softmax
logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp lt masked_fill
masked_scatter masked_select matmul max maximum mean median min minimum mm mul multinomial mv nan_to_num ne neg nextafter
nonzero norm normal outer pow prod rad2deg reciprocal relu remainder repeat repeat_interleave roll round rsqrt scatter
scatter_add scatter_reduce select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter softmax sort
split_with_sizes sqrt square stddev sub sum take_along_dim tan tanh topk tril triu trunc uniform unique var where xlogy
""".split())
# PyTorch has these without the form that writes to the tensor.
ONLY_NEW = {"isfinite", "isinf", "isnan", "isneginf", "isposinf", "signbit", "maximum", "minimum", "fmax", "fmin", "logaddexp",
            "logaddexp2", "norm"}

COMMENT = re.compile(r"//.*")
FORM = re.compile(r"PEL_(UNARY|BINARY)(_PLAIN|_OUT)?\((\w+)\)")
DECLARATION = re.compile(r"PEL_API ([^;()]*?)\b(\w+)\(([^;]*)\);")
DEFAULT = re.compile(r" = .*")


def arguments(text):
    """The arguments of a declaration, split at the commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "(<{[") - (character in ")>}]")
        if character == "," and depth == 0:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return parts + [text[begin:].strip()]


def declared(path):
    """(result, name, arguments) of each function of a header, with macros written out."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    found = []
    for match in FORM.finditer(text):
        kind, form, name = match.groups()
        others = [[]] if kind == "UNARY" else [["const Tensor& other"], ["const Scalar& other"]]
        names = [("Tensor", name)] + ([("const Tensor&", name + "_")] if form is None else [])
        found += [(match.start(), result, each, ["const Tensor& self", *other, "Site site = Site::current()"])
                  for result, each in names for other in others]
    for match in DECLARATION.finditer(text):
        result, name, args = match.groups()
        found.append((match.start(), " ".join(result.split()), name, arguments(" ".join(args.split()))))
    return [entry[1:] for entry in sorted(found, key=lambda entry: entry[0])]


def is_method(name, own):
    plain = name.removesuffix("_")
    return plain in METHODS and name not in own and not (name.endswith("_") and plain in ONLY_NEW)


def methods():
    """(header, result, name, arguments after self, whether self is the second argument) of all methods."""
    tensor = COMMENT.sub("", TENSOR.read_text(encoding="utf-8"))
    own = set(re.findall(r"\b(\w+)\(", tensor[tensor.index("class PEL_API Tensor"):tensor.index("\n};\n", tensor.index("TensorHeader* p_ = nullptr;"))]))
    for path in sorted(OPS.glob("*.h")):
        if path.name in ("internal.h", "pointwise_forms.h"):
            continue
        for result, name, args in declared(path):
            is_second = len(args) > 1 and args[1] == "const Tensor& self"
            if is_method(name, own) and (args[0] == "const Tensor& self" or is_second):
                rest = [arg for arg in args if arg != "const Tensor& self"]
                yield path.stem, result, name, rest, is_second


def overloads():
    """methods(), where a default of an optional tensor is an overload without it: clang would evaluate traits of Tensor inside of
    its class, and remember them wrong."""
    for header, result, name, args, is_second in methods():
        optional = [i for i, arg in enumerate(args) if arg.startswith("const std::optional<Tensor>&") and " = " in arg]
        for count in range(len(optional) + 1):  # how many of them are passed
            passed = [DEFAULT.sub("", arg) if i in optional else arg for i, arg in enumerate(args) if i not in optional[count:]]
            if count == len(optional) or all(" = " in arg for arg in args[optional[count]:]):
                call = ["std::nullopt" if i in optional[count:] else name_of(arg) for i, arg in enumerate(args)]
                call.insert(1 if is_second else 0, "*this")
                yield header, result, name, passed, call


def opaque_default(arg):
    """In the class only the names of enums are known."""
    return re.sub(r"= ([A-Z]\w+)::(No|Yes)\b", lambda found: f"= {found[1]}({'true' if found[2] == 'Yes' else 'false'})", arg)


def name_of(arg):
    return DEFAULT.sub("", arg).split()[-1].lstrip("&*")


def written():
    inside, outside, previous = [], [], None
    for header, result, name, args, call in overloads():
        if header != previous:
            inside.append(f"\n// {header.capitalize()}.")
            previous = header
        inside.append(f"{result} {name}({', '.join(opaque_default(arg) for arg in args)}) const;")
        plain = ", ".join(DEFAULT.sub("", arg) for arg in args)
        outside.append(f"{result} Tensor::{name}({plain}) const {{ return pel::{name}({', '.join(call)}); }}")
        if args and args[0].startswith("Axes "):  # not from braces, which are a list of axes
            rest = ", ".join(["T axis", *(opaque_default(arg) for arg in args[1:])])
            inner = ", ".join(["Axes(&one, 1)", *(name_of(arg) for arg in args[1:])])
            inside.append(f"template <std::integral T> {result} {name}({rest}) const "
                          f"{{ const auto one = static_cast<std::int64_t>(axis); return {name}({inner}); }}")
    return inside, outside


def formatted(text):
    return subprocess.run([CLANG_FORMAT, f"--assume-filename={DEFINITIONS}"], cwd=ROOT, input=text, text=True,
                          capture_output=True, check=True).stdout


def files():
    inside, outside = written()
    head = "// Written by scripts/write_methods.py from the declarations of the ops.\n"
    return {
        DECLARATIONS: formatted(head + "// Methods that call the op of the same name, inside the class Tensor.\n" + "\n".join(inside) + "\n"),
        DEFINITIONS: formatted(head + "// x.sum(-1) is sum(x, {-1}): the methods of Tensor that call ops.\n"
                               + "// Long because each overload of an op is a method.\n"
                               + '#include "pellucid/ops.h"\n'
                               + "\nnamespace pel {\n\n" + "\n".join(outside) + "\n\n}  // namespace pel\n"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing them")
    args = parser.parse_args()
    stale = []
    for path, text in files().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if args.write:
            path.write_text(text, encoding="utf-8")
        else:
            stale.append(f"{path.relative_to(ROOT)}: not up to date with the declarations of ops: "
                         "run python3 scripts/write_methods.py --write")
    print("\n".join(stale) if stale else "methods of Tensor: up to date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
