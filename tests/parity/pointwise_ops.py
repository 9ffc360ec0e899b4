"""The elementwise ops of include/pellucid/ops: their forms, torch's functions for them, and what to allow."""
import pathlib
import re
import warnings

import torch

from program import INTEGRAL, Num, OPS

warnings.filterwarnings("ignore", message="An output with one or more elements was resized")
OP_HEADERS = pathlib.Path(__file__).resolve().parents[2] / "include/pellucid/ops"
FAMILIES = ("activations", "arithmetic", "comparison", "math")
HALVES = ("f16", "bf16")
OURS_ALONE = {"geglu", "swiglu"}  # tests/conformance compares their bits with those of the ops that they are made of


def forms_in_headers():
    """{op: (operands, forms)}: operands is 1 or 2, or 0 where the header declares the functions one by one."""
    text, ops = "".join((OP_HEADERS / f"{family}.h").read_text() for family in FAMILIES), {}
    for operands, kind, name in re.findall(r"^PEL_(UNARY|BINARY)(_PLAIN|_OUT|)\((\w+)\)", text, re.MULTILINE):
        forms = {"_PLAIN": [""], "_OUT": ["", ".out"], "": ["", "_", ".out"]}[kind]
        ops[name] = (1 if operands == "UNARY" else 2, forms)
    for name in re.findall(r"^PEL_API Tensor (\w+)\(", text, re.MULTILINE):
        ops.setdefault(name, (0, [""]))
    for name, form in re.findall(r"^PEL_API const Tensor& (\w+?)(_|_out)\(", text, re.MULTILINE):
        form = form.replace("_out", ".out")
        if form not in ops[name][1]:
            ops[name][1].append(form)
    # tests/autograd compares parts of gradients with finite differences.
    return {name: found for name, found in ops.items() if not name.endswith("_backward") and name not in OURS_ALONE}


HEADER_OPS = forms_in_headers()
NAMES = sorted(HEADER_OPS)

# Arguments from this position on are keywords of torch.
KEYWORDS = {"add": (2, ["alpha"]), "sub": (2, ["alpha"]), "rsub": (2, ["alpha"]), "div": (2, ["rounding_mode"]),
            "addcmul": (3, ["value"]), "addcdiv": (3, ["value"]), "round": (1, ["decimals"]),
            "gelu": (1, ["approximate"])}
TAKES_NUMBER = set("add sub rsub mul div floor_divide trunc_divide remainder fmod pow float_power copysign xlogy "
                   "xlog1py eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
                   "bitwise_right_shift clamp_min clamp_max".split())
TAKES_NUMBER_FIRST = {"pow", "float_power", "div", "xlogy", "xlog1py"}
# Ties of 0 and -0, and -0 - tanh(-0).
NO_NEGATIVE_ZERO = set("maximum minimum fmax fmin clamp clamp_min clamp_max tanhshrink softshrink".split())
# Dtypes that only one of the two takes: nextafter of f16 and bf16 and clamps of bool are torch's, the rest Pellucid's.
DIFFERENT_DTYPES = {"nextafter": HALVES, "lerp": (*INTEGRAL, "bool"),
                    **{name: ("bool",) for name in "clamp clamp_min clamp_max abs softsign square tanhshrink".split()}}
ONE_DTYPE = {"lerp", "heaviside", "nextafter"}
WRITES_ANYWHERE = {"masked_fill", "nan_to_num", "threshold"}  # torch does not refuse to write to one element twice
DIVIDES = {"floor_divide", "trunc_divide", "remainder", "fmod", "div"}

# How many numbers of its dtype a floating value may be away; f16 and bf16 one at most. Ops that are not here are exact.
# None needs more than 4: both sides are within a rounding or two of the true value, but for what values.py skips.
STEPS = {name: 4 for name in (
    "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh exp exp2 expm1 log log10 log1p log2 entr erf "
    "erfc erfinv ndtr sigmoid logit sinc hypot ldexp logaddexp logaddexp2 pow float_power xlogy xlog1py rsqrt gelu "
    "silu mish elu celu selu softplus log_sigmoid tanhshrink").split()}
STEPS.update({"sqrt": 1, "hardswish": 1, "softsign": 1})  # torch's sqrt is not always the nearest number


def find(name, form):
    homes = (torch, torch.special, torch._C._nn, torch.nn.functional, torch.ops.aten)
    if form == "_":
        homes = (torch.Tensor,) + homes
    for home in homes:
        function = getattr(home, name + form, None)
        if function is not None:
            return function
    return None


def with_keywords(name, function):
    if name == "trunc_divide":
        return lambda a, b, **out: torch.div(a, b, rounding_mode="trunc", **out)
    if name not in KEYWORDS:
        return function
    at, words = KEYWORDS[name]
    return lambda *args, **out: function(*args[:at], **dict(zip(words, args[at:])), **out)


def written_into(plain, out, args):
    """The rule of torch's outs, for ops that have none there: any dtype of the result's category or higher."""
    result = plain(*args)
    if not torch.can_cast(result.dtype, out.dtype):
        raise RuntimeError(f"{result.dtype} cannot be written into {out.dtype}")
    return out.copy_(result)


NO_OUT = set("gelu relu relu6 selu celu softsign tanhshrink masked_fill".split())


def torch_functions(name):
    """{step: function over tensors, numbers and words} for the forms of an op."""
    plain = with_keywords(name, find(name, ""))
    functions = {name: plain}
    if name == "trunc_divide":
        functions[name + "_"] = lambda x, y: x.div_(y, rounding_mode="trunc")
    elif find(name, "_") is not None:
        functions[name + "_"] = with_keywords(name, find(name, "_"))
    else:
        functions[name + "_"] = lambda x, *args: written_into(plain, x, (x, *args))
    if name in NO_OUT:
        functions[name + ".out"] = lambda out, *args: written_into(plain, out, args)
    else:
        functions[name + ".out"] = lambda out, *args: plain(*args, out=out)
    return {step: lambda *args, function=function: function(*(a.value if isinstance(a, Num) else a for a in args))
            for step, function in functions.items()}


for op_name in NAMES:
    OPS.update(torch_functions(op_name))
OPS["masked_fill_by_tensor"] = torch.masked_fill
