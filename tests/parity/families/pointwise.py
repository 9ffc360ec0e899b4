"""Every elementwise op of include/pellucid/ops/pointwise.h, in each of its forms.

Where Pellucid differs from torch on purpose, no case is drawn:

- A number, or a single element, next to f16 or bf16 tensors is rounded to their dtype first, and next to f32 as the
  exponent of pow; torch keeps it wider in some ops. The numbers drawn there are exact in both.
- The factor alpha of add, sub and rsub is part of one rounding; torch rounds the product in f16 and bf16.
- Every binary op takes a number as the second operand; torch's only in TAKES_NUMBER.
- An out may have any dtype of the result's category or higher; torch's many ops want the very dtype (ONE_DTYPE_OUT).
  An out of another size is refused; torch resizes it, with a warning. So is an out with one element at two indices,
  which torch's WRITES_ANYWHERE let pass.
- Dtypes that only one of the two takes: DIFFERENT_DTYPES, ONE_DTYPE; addcdiv of integers, ldexp by a bool, where by a
  u8 condition, round with 0 decimals of integers, a negative fraction as a u8.
- ldexp computes 2^x in the dtype of the result; torch in that of the exponent.
- Values where torch is far from the true result or not of one mind: values.SKIPPED, NO_NEGATIVE_ZERO.
- Strides that no element tells: of axes of size 1 and of empty results. And the result's axes stand in the operands'
  order; in torch they stand in that of converted copies, and log_sigmoid and masked_fill are row-major.
"""
import torch

from layouts import random_strides, span
from pointwise_ops import (DIFFERENT_DTYPES, DIVIDES, HALVES, HEADER_OPS, NAMES, ONE_DTYPE, STEPS, TAKES_NUMBER,
                           TAKES_NUMBER_FIRST, WRITES_ANYWHERE)
from program import Bits, BITS_OF, DTYPES, DTYPE_NAMES, FLOATING, INTEGRAL, NoAnswer, Num, OPS, Ref
from values import EXACT, number, pool

PLACES = ("dense", "permuted", "gaps")  # no element at two indices


def random_sizes(rng):
    roll = rng.random()
    if roll < 0.05:
        return []
    if roll < 0.35:
        return [rng.randint(1, 36)]
    if roll < 0.39:
        return rng.choice(([0], [2, 0], [0, 3], [2, 0, 3]))
    while True:
        sizes = [rng.choice((1, 2, 2, 3, 3, 4, 5)) for _ in range(rng.choice((2, 2, 3, 3, 4)))]
        if torch.Size(sizes).numel() <= 24:
            return sizes


def operand(program, rng, dtype, sizes, words, layouts=("dense", "permuted", "gaps", "expanded", "windows")):
    """A tensor of some layout over memory with words of the pool. Returns the memory and the tensor."""
    while True:
        strides = random_strides(rng, sizes, layouts=layouts)
        if span(sizes, strides) <= max(60, torch.Size(sizes).numel()):
            break
    offset = rng.choice((0, 0, 0, 0, 1, 3))
    count = offset + span(sizes, strides) + rng.choice((0, 0, 1))
    memory = program.do("data", Bits(dtype, rng.choices(words, k=count)))
    if sizes == [count] and strides == [1]:
        return memory, memory
    return memory, program.do("as_strided", memory, sizes, strides, offset)


def broadcast(rng, sizes):
    """Sizes that broadcast with these, as two operands would."""
    if rng.random() < 0.6:
        return list(sizes)
    sizes = [1 if rng.random() < 0.35 else size for size in sizes]
    while sizes and rng.random() < 0.25:
        sizes = sizes[1:]
    return sizes


# The values that an op is asked about, where "any" would be NaN too often.
KINDS = {"acos": "unit", "asin": "unit", "atanh": "unit", "erfinv": "unit", "logit": "chance", "acosh": "above_one",
         "log": "positive", "log2": "positive", "log10": "positive", "entr": "positive", "sqrt": "positive",
         "rsqrt": "positive", "log1p": "positive", "lerp": "modest", "addcmul": "modest", "addcdiv": "modest",
         "ldexp": "modest"}

PARAMETERS = {  # of the ops that take one tensor: numbers, words or counts, by name in the order of the schema
    "logit": [lambda rng, dtype: rng.choice((None, Num(0.125), Num(0.25), Num(0.0), Num(-1.0)))],
    "gelu": [lambda rng, dtype: rng.choice(("none", "tanh") * 9 + ("erf",))],
    "softplus": [lambda rng, dtype: Num(rng.choice((1, 2, 0.5, 4.0, 1.5))),
                 lambda rng, dtype: Num(rng.choice((20, 10.0, 2)))],
    "elu": [lambda rng, dtype: Num(rng.choice((1, 1.5, 0.5, 2))) for _ in range(3)],
    "celu": [lambda rng, dtype: Num(rng.choice((1, 1.5, 0.5, 2, -1.0, 0)))],
    "leaky_relu": [lambda rng, dtype: Num(rng.choice((0.125, 0.25, 1.5, -0.5, 0)))],
    "threshold": [number] * 2,
    "hardtanh": [lambda rng, dtype: Num(rng.choice((-1, 0, -2.5, 1, 2))),
                 lambda rng, dtype: Num(rng.choice((1, 2.5, 6, 0)))],
    "hardshrink": [lambda rng, dtype: Num(rng.choice((0.5, 1, 0, 2.5, -1)))],
    "softshrink": [lambda rng, dtype: Num(rng.choice((0.5, 1, 0, 2.5, -1)))],
    "round": [lambda rng, dtype: rng.choice((0, 1, 2, 3, -1, -2) if dtype in FLOATING else (1, -1))],
    "nan_to_num": [lambda rng, dtype: Num(rng.choice((0.0, 1.5, -2.0))),
                   lambda rng, dtype: rng.choice((None, Num(100.0), Num(float("inf")))),
                   lambda rng, dtype: rng.choice((None, Num(-100.0), Num(0.0)))],
}
REQUIRED = {"threshold": 2}


def second_dtype(rng, name, dtype, form):
    if name in ONE_DTYPE or (rng.random() < 0.45 and not (name == "ldexp" and dtype in HALVES)):
        return dtype
    if name == "ldexp":
        return rng.choice(INTEGRAL)
    if name == "addcdiv":
        return rng.choice(FLOATING)
    if form == "_" and rng.random() < 0.8:
        return rng.choice([other for other in DTYPES if torch.can_cast(DTYPES[other], DTYPES[dtype])])
    return rng.choice(list(DTYPES))


class Draw:
    """The operands of one call: the first makes the memory that an in-place form changes."""

    def __init__(self, program, rng, name, form, dtype):
        self.program, self.rng, self.name, self.form, self.dtype = program, rng, name, form, dtype
        self.kind = KINDS.get(name, "any")
        self.sizes = random_sizes(rng)
        self.memory = self.first = None
        self.step = name + form

    def self_tensor(self, dtype=None, sizes=None):
        layouts = ("dense", "permuted", "gaps", "expanded", "windows")
        if self.form == "_":
            refused = self.rng.random() < 0.03 and self.name not in WRITES_ANYWHERE
            layouts = ("expanded",) if refused else PLACES
        dtype = dtype or self.dtype
        words = pool(dtype, self.kind, self.name)
        self.memory, self.first = operand(self.program, self.rng, dtype, self.sizes if sizes is None else sizes, words,
                                          layouts)
        return self.first

    def other_tensor(self, dtype=None, sizes=None, kind=None):
        rng = self.rng
        dtype = dtype or second_dtype(rng, self.name, self.dtype, self.form)
        sizes = self.other_sizes() if sizes is None else sizes
        words = pool(dtype, kind or self.kind, self.name)
        if sizes == [] and self.sizes != []:  # stands where a number would
            if dtype in FLOATING:
                memory = self.program.do("data", Bits(dtype, exact_words(rng, dtype)))
            else:
                memory = self.program.do("data", Bits(dtype, [rng.choice((0, 1) if dtype == "bool" else (1, 2, 3, 5))]))
            return self.program.do("as_strided", memory, [], [], 0)
        # Of another dtype, torch's result takes its layout from a converted copy.
        layouts = {} if dtype == self.dtype else {"layouts": PLACES}
        return operand(self.program, rng, dtype, sizes, words, **layouts)[1]

    def other_sizes(self):
        if self.form == "_":
            return broadcast(self.rng, self.sizes)
        if self.rng.random() < 0.1:
            return []
        if self.rng.random() < 0.03:
            return [size + 1 for size in self.sizes] or [2]
        return broadcast(self.rng, self.sizes)


def exact_words(rng, dtype):
    value = torch.tensor([rng.choice(EXACT)], dtype=DTYPES[dtype])
    return [value.view(BITS_OF[dtype]).item() & ((1 << (8 * value.itemsize)) - 1)]


def draw_unary(d):
    args = [d.self_tensor()]
    params = PARAMETERS.get(d.name, [])
    given = d.rng.randint(REQUIRED.get(d.name, 0), len(params))
    return args + [param(d.rng, d.dtype) for param in params[:given]]


def draw_binary(d):
    rng, name = d.rng, d.name
    first = d.self_tensor(sizes=broadcast(rng, d.sizes) if d.form != "_" and rng.random() < 0.3 else None)
    roll = rng.random()
    if roll < 0.22 and name in TAKES_NUMBER:
        args = [first, number(rng, d.dtype, name)]
        if name in TAKES_NUMBER_FIRST and d.form != "_" and rng.random() < 0.3:
            args.reverse()
    elif roll < 0.27 and name != "ldexp":
        args = [first, first]
    elif name in DIVIDES and rng.random() < 0.06:
        args = [first, d.other_tensor(kind="with_zeros")]
    else:
        args = [first, d.other_tensor(kind="modest" if name in ("pow", "float_power") else None)]
    return args


def draw_scaled(d):
    """With alpha: torch rounds its product in f16 and bf16, and with an element that repeats: there it is exact."""
    args = draw_binary(d)
    if d.rng.random() < 0.5:
        tensors = [d.program.value(arg) for arg in args if isinstance(arg, Ref)]
        if any(DTYPE_NAMES[t.dtype] in HALVES for t in tensors):
            args.append(Num(-1))
        elif len(tensors) < 2 or tensors[0].shape != tensors[1].shape or any(0 in t.stride() for t in tensors):
            args.append(Num(d.rng.choice((2, -1, 0.5, -4.0))))
        else:
            args.append(Num(number(d.rng, d.dtype).value or 2))
    return args


def draw_div(d):
    args = draw_binary(d)
    if d.rng.random() < 0.6:
        args.append(d.rng.choice((None, "floor", "trunc", "floor", "trunc", "floor", "trunc", "round")))
    return args


def draw_ternary(d):
    args = [d.self_tensor(), d.other_tensor(), d.other_tensor()]
    if d.name == "lerp":
        if d.rng.random() < 0.4:
            args[2] = number(d.rng, d.dtype)
    elif d.rng.random() < 0.6:
        args.append(number(d.rng, d.dtype))
    return args


def draw_where(d):
    rng = d.rng
    condition = d.self_tensor("bool" if rng.random() < 0.96 else rng.choice(("i32", "f32")))
    args = [condition]
    for _ in range(2):
        if rng.random() < 0.15 and d.form == "":
            args.append(number(rng, d.dtype))
        else:
            args.append(d.other_tensor(dtype=d.dtype if rng.random() < 0.6 else None))
    return args


def draw_masked_fill(d):
    rng = d.rng
    first = d.self_tensor()
    mask = d.other_tensor("bool" if rng.random() < 0.96 else "i32")
    if d.form == "" and rng.random() < 0.3:
        d.step = "masked_fill_by_tensor"
        return [first, mask, d.other_tensor(dtype=d.dtype, sizes=[])]
    return [first, mask, number(rng, d.dtype)]


def draw_clamp(d):
    rng = d.rng
    first = d.self_tensor()
    bounds = []
    numbers = rng.random() < 0.5
    for _ in range(2):
        if rng.random() < 0.25:
            bounds.append(None)
        else:
            bounds.append(number(rng, d.dtype) if numbers else d.other_tensor())
    return [first, *bounds]


DRAWS = {"add": draw_scaled, "sub": draw_scaled, "rsub": draw_scaled, "div": draw_div, "lerp": draw_ternary,
         "addcmul": draw_ternary, "addcdiv": draw_ternary, "where": draw_where, "masked_fill": draw_masked_fill,
         "clamp": draw_clamp, **{name: draw_unary for name in PARAMETERS}}
for op_name, (operands, _) in HEADER_OPS.items():
    if operands:
        DRAWS.setdefault(op_name, draw_unary if operands == 1 else draw_binary)


def call_with(name, tensor):
    args = {"where": [tensor.bool(), tensor, tensor], "masked_fill": [tensor, tensor.bool(), 1],
            "threshold": [tensor, 1, 1], "lerp": [tensor] * 3, "addcmul": [tensor] * 3, "addcdiv": [tensor] * 3,
            "clamp": [tensor, tensor, tensor]}.get(name)
    return args or [tensor] * (2 if DRAWS[name] in (draw_binary, draw_scaled, draw_div) else 1)


def taken_dtypes(name, form):
    """Those that torch and Pellucid take where all operands have the same."""
    taken = []
    for dtype in DTYPES:
        if dtype in DIFFERENT_DTYPES.get(name, ()):
            continue
        args = call_with(name, torch.ones(2, dtype=DTYPES[dtype]))
        try:
            OPS[name + form](*args) if form == "_" else OPS[name](*args)
            taken.append(dtype)
        except (RuntimeError, TypeError):
            pass
    return taken


def takes_another_out(name):
    tensor = torch.ones(2, dtype=torch.float32 if "f32" in TAKEN[name] else torch.int32)
    args = call_with(name, tensor)
    try:
        result = OPS[name](*args)
        OPS[name + ".out"](torch.empty(2, dtype=torch.float64 if result.dtype != torch.int32 else torch.int64), *args)
    except RuntimeError:
        return False
    return True


TAKEN = {name + form: taken_dtypes(name, form) for name in NAMES for form in HEADER_OPS[name][1]}
# Outs that torch wants to have the very dtype of the result, where Pellucid takes all of its category and higher ones.
ONE_DTYPE_OUT = {name for name in NAMES if name + ".out" in TAKEN and not takes_another_out(name)}
ONE_DTYPE_OUT |= {"clamp", "clamp_min", "clamp_max"}  # where the bounds are numbers


def out_dtype(rng, name, dtype):
    """For the out of a result of this dtype: mostly one that takes it."""
    roll = rng.random()
    if roll < 0.5 or name in ONE_DTYPE_OUT:
        return dtype
    if roll < 0.6:
        options = DTYPES
    else:
        options = [other for other in DTYPES if torch.can_cast(DTYPES[dtype], DTYPES[other])]
    if STEPS.get(name) and dtype in FLOATING:  # in a wider out, steps are not those of the result
        width = DTYPES[dtype].itemsize
        options = [other for other in options if other not in FLOATING or DTYPES[other].itemsize < width]
    return rng.choice([*options, dtype])


def repeats(tensor):
    """Whether an element stands at several indices."""
    places = torch.arange(1 << 10).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return places.unique().numel() != places.numel()


def fits(tensor, sizes, dtype):
    """Whether this operand can be the out as well."""
    return list(tensor.shape) == sizes and DTYPE_NAMES[tensor.dtype] == dtype and not repeats(tensor)


def draw_again_if_converted(name, form, result, operands):
    """torch takes the layout of a plain result from converted copies, which repeat nothing."""
    converts = len({operand.dtype for operand in operands}) > 1 or name in ("float_power", "ldexp")
    converts |= result.is_floating_point() and not all(operand.is_floating_point() for operand in operands)
    if form == "" and converts and any(repeats(operand) for operand in operands):
        raise NoAnswer
    # A single element with f16 or bf16 operands counts as a number.
    half = next((operand.dtype for operand in operands if DTYPE_NAMES[operand.dtype] in HALVES), None)
    for operand in operands if half else ():
        if operand.numel() == 1 and (operand.double() != operand.to(half).double()).any():
            raise NoAnswer
    # These are row-major in torch, whose 2 ** x and 1 ** x are other ops.
    row_major = name.startswith(("log_sigmoid", "masked_fill"))
    row_major |= name in ("pow", "float_power") and len(operands) == 1
    if form == "" and row_major and not all(operand.is_contiguous() for operand in operands):
        raise NoAnswer
    # self * pow(2, other) in two ops.
    if form == "" and name == "ldexp" and operands[0].stride() != operands[1].stride():
        raise NoAnswer
    # Of f16 and bf16 the quotient of small whole numbers only: see SKIPPED.
    if name in DIVIDES and half:
        if any(not operand.is_floating_point() and (operand.long().abs() > 12).any() for operand in operands):
            raise NoAnswer


def numbered_case(program, rng, index):
    """Case `index` of many: they walk over the ops, then over their forms, then over the dtypes."""
    name, turn = NAMES[index % len(NAMES)], index // len(NAMES)
    forms = HEADER_OPS[name][1]
    form, dtype = forms[turn % len(forms)], list(DTYPES)[turn // len(forms) % len(DTYPES)]
    if dtype not in TAKEN[name + form] and (rng.random() < 0.85 or dtype in DIFFERENT_DTYPES.get(name, ())):
        dtype = rng.choice(TAKEN[name + form])
    draw = Draw(program, rng, name, form, dtype)
    args = DRAWS[name](draw)
    memory, target = draw.memory, draw.first
    if form == ".out":
        try:
            values = [program.value(a) if isinstance(a, Ref) else a for a in args]
            result = OPS[name](*values)
            sizes, wanted = list(result.shape), out_dtype(rng, name, DTYPE_NAMES[result.dtype])
        except (RuntimeError, TypeError, ValueError, IndexError):
            sizes, wanted = draw.sizes, dtype
        if rng.random() > 0.1 or not fits(program.value(target), sizes, wanted):
            layouts = ("expanded",) if rng.random() < 0.03 and name not in WRITES_ANYWHERE else PLACES
            memory, target = operand(program, rng, wanted, sizes, pool(wanted, "modest", ""), layouts)
        args.insert(0, target)
    sizes = program.value(target).shape
    result = program.do(draw.step, *args)
    if program.value(target).shape != sizes:
        raise NoAnswer
    if program.error:
        return
    tensor = program.value(result)
    draw_again_if_converted(name, form, tensor, [program.value(arg) for arg in args if isinstance(arg, Ref)])
    steps = STEPS.get(name, 0)
    if steps and DTYPE_NAMES[tensor.dtype] in HALVES:
        steps = 1
    kind = f"steps:{steps}" if steps and DTYPE_NAMES[tensor.dtype] in FLOATING else "tensor"
    if kind != "tensor" and tensor.numel() > 64:  # written as a hash, which knows no steps
        raise NoAnswer
    if form == "":
        program.expect_tensor(result, kind, visible_strides=True)
    else:
        program.expect_tensor(memory, kind)
        program.expect(result, f"same {target}")
