"""Scans, sorting and searching: include/pellucid/ops/sorting.h.

Scans are held to the very bits, since torch too adds one element after the other; logcumsumexp to a few roundings.
Where Pellucid differs from torch on purpose, no case is drawn or compared:

- Of equal elements topk, kthvalue and median give the lowest index. torch's depends on its partition: indices are
  compared only where all elements differ.
- topk is sorted also where sorted=False is asked for.
- Of 0 and -0, which are equal, unique, topk, kthvalue and median give the first; torch's again depends: one is drawn.
- Of several NaNs unique numbers the first one first; torch in any order: values and counts are compared, or no NaN is.
- median along an axis of stride 0 reads beyond torch's memory, and gives what is there: its layouts do not overlap.
- median of no integers is an error; torch gives what NaN happens to be as that integer.
- A sorter is looked at only if there are values; torch's refuses it in any case.
- A scan to bool and a search among bools are refused also where there is nothing to do, or one element without axes.
"""
import math
import warnings

import torch

from families.copies import NON_OVERLAPPING
from families.pointwise import operand, random_sizes
from families.reductions import words_of
from layouts import random_axis
from program import Bits, DTYPES, FLOATING, INTEGRAL, NoAnswer, Num, OPS

warnings.filterwarnings("ignore", message=".*non-contiguous.*")
PLAIN = ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "argsort", "topk", "kthvalue", "median",
         "median_dim", "unique", "searchsorted", "bincount")


def flag(number):
    return bool(number.value)


def torch_unique(x, is_sorted=Num(True), inverse=Num(False), counts=Num(False)):
    result = torch.unique(x, sorted=flag(is_sorted), return_inverse=flag(inverse), return_counts=flag(counts))
    result = [result] if isinstance(result, torch.Tensor) else list(result)
    none = torch.empty(0, dtype=torch.int64)
    return [result.pop(0), result.pop(0) if flag(inverse) else none, result.pop(0) if flag(counts) else none]


def torch_searchsorted(boundaries, values, int32=Num(False), right=Num(False), sorter=None):
    values = values.value if isinstance(values, Num) else values
    return torch.searchsorted(boundaries, values, out_int32=flag(int32), right=flag(right), sorter=sorter)


def dtype_option(name):
    return {} if name is None else {"dtype": DTYPES[name]}


OPS.update({
    "cumsum": lambda x, axis, dtype=None: torch.cumsum(x, axis, **dtype_option(dtype)),
    "cumprod": lambda x, axis, dtype=None: torch.cumprod(x, axis, **dtype_option(dtype)),
    "cummax": torch.cummax,
    "cummin": torch.cummin,
    "logcumsumexp": torch.logcumsumexp,
    "sort": lambda x, axis=-1, down=Num(False): torch.sort(x, dim=axis, descending=flag(down), stable=True),
    "argsort": lambda x, axis=-1, down=Num(False): torch.argsort(x, dim=axis, descending=flag(down), stable=True),
    "topk": lambda x, k, axis=-1, largest=Num(True), is_sorted=Num(True): torch.topk(x, k, axis, flag(largest),
                                                                                     flag(is_sorted)),
    "kthvalue": lambda x, k, axis=-1, keep=Num(False): torch.kthvalue(x, k, axis, flag(keep)),
    "median": torch.median,
    "median_dim": lambda x, axis=-1, keep=Num(False): torch.median(x, axis, flag(keep)),
    "unique": torch_unique,
    "searchsorted": torch_searchsorted,
    "bincount": lambda x, weights=None, minlength=0: torch.bincount(x, weights, minlength),
})


def expect(program, ref, kind="tensor", parts=None):
    """Every tensor of the result, or those named."""
    if program.error:
        return
    result = program.value(ref)
    if isinstance(result, torch.Tensor):
        program.expect_tensor(ref, kind, visible_strides=True)
        return
    program.expect(ref, f"count {len(result)}")
    for i in range(len(result)) if parts is None else parts:
        program.expect_tensor(f"{ref}.{i}", kind, result[i], visible_strides=True)


def values_of(rng, dtype, kind="any", one_zero=False):
    """Numbers to draw from. Few of them: most rows have equal elements."""
    if dtype == "bool":
        return [0, 1]
    if dtype in FLOATING:
        special = [math.inf, -math.inf, math.nan, 0.0 if one_zero else -0.0, 0.0]
        values = [k / 4 for k in range(-12, 13)] + [rng.uniform(-9, 9) for _ in range(12)]
        if kind == "product":
            values = [0.5, 2.0, -1.0, 1.0, 1.5, -0.75] + [rng.uniform(-2, 2) for _ in range(6)]
        return values + (rng.sample(special, rng.randint(1, 5)) if rng.random() < 0.5 else [])
    info = torch.iinfo(DTYPES[dtype])
    small = [k for k in range(-9, 10) if k >= info.min]
    return small + ([info.min, info.max, info.max - 1, info.min + 1] if rng.random() < 0.4 else [])


def sizes_of(rng):
    roll = rng.random()
    if roll < 0.03:
        return [rng.choice((150, 200, 333))]  # long enough for what serves long rows
    if roll < 0.06:
        return rng.choice(([2, 170], [180, 3], [9, 20], [20, 9]))
    return random_sizes(rng)


def tensor(program, rng, dtype=None, sizes=None, kind="any", dtypes=tuple(DTYPES), one_zero=False,
           nan=True, **layouts):
    dtype = dtype or rng.choice(dtypes)
    sizes = sizes_of(rng) if sizes is None else sizes
    values = [value for value in values_of(rng, dtype, kind, one_zero) if nan or value == value]
    return dtype, sizes, operand(program, rng, dtype, sizes, words_of(rng, dtype, values), **layouts)[1]


def different(program, rng, dtypes):
    """A tensor whose elements all differ, so that every index is decided."""
    dtype = rng.choice(dtypes)
    sizes = random_sizes(rng)
    count = torch.Size(sizes).numel()
    values = rng.sample(range(0 if dtype == "u8" else -60, 100), count)
    if dtype in FLOATING and count and rng.random() < 0.2:
        values[0] = rng.choice((math.nan, math.inf, -math.inf))
    memory = program.do("data", Bits(dtype, words_of(rng, dtype, values)))
    order = list(range(len(sizes)))
    rng.shuffle(order)
    strides, step = [0] * len(sizes), 1
    for axis in order:
        strides[axis] = step
        step *= max(sizes[axis], 1)
    return sizes, program.do("as_strided", memory, sizes, strides, 0)


def axis_of(rng, sizes):
    return random_axis(rng, len(sizes), bad=rng.random() < 0.04)


def scan(program, rng, name):
    given = rng.choice(list(DTYPES)) if rng.random() < 0.3 else None
    if given in INTEGRAL or given == "bool":  # what a fraction or a negative one is as an integer is another matter
        dtype = rng.choice(INTEGRAL + ("bool",))
        sizes = sizes_of(rng)
        if given == "bool" and (not sizes or 0 in sizes):
            sizes = [2]
        words = [0, 1] if dtype == "bool" else [0, 1, 2, 3]
        x = operand(program, rng, dtype, sizes, words)[1]
    else:
        _, sizes, x = tensor(program, rng, kind="product" if name == "cumprod" else "any")
    expect(program, program.do(name, x, axis_of(rng, sizes), *([given] if given else [])))


def extremes(program, rng, name):
    _, sizes, x = tensor(program, rng)
    expect(program, program.do(name, x, axis_of(rng, sizes)))


def logcumsumexp(program, rng, name):
    dtypes = FLOATING if rng.random() < 0.95 else INTEGRAL + ("bool",)
    _, sizes, x = tensor(program, rng, dtypes=dtypes)
    expect(program, program.do(name, x, axis_of(rng, sizes)), "near")


def sort(program, rng, name):
    _, sizes, x = tensor(program, rng)
    args = [axis_of(rng, sizes), Num(rng.random() < 0.5)][:rng.choice((0, 1, 2, 2))]
    expect(program, program.do(name, x, *args))


def chosen(program, rng, name):
    """topk, kthvalue and median_dim: with indices where all elements differ, else by values."""
    dtypes = tuple(DTYPES) if rng.random() < 0.1 else FLOATING + INTEGRAL
    decided = rng.random() < 0.5
    if decided:
        sizes, x = different(program, rng, [dtype for dtype in dtypes if dtype != "bool"])
    else:
        layouts = {"layouts": NON_OVERLAPPING} if name == "median_dim" else {}
        _, sizes, x = tensor(program, rng, dtypes=dtypes, one_zero=True, **layouts)
    axis = axis_of(rng, sizes)
    length = program.value(x).size(axis) if sizes and -len(sizes) <= axis < len(sizes) else 1
    k = rng.randint(0 if name == "topk" else 1, max(length, 1)) if rng.random() < 0.94 else rng.choice(
        (-1, 0, length + 1, length + 5))
    flags = [Num(rng.random() < 0.5) for _ in range(2)]
    if name == "topk":
        flags[1] = Num(True)
    args = ([] if name == "median_dim" else [k]) + [axis] + flags[:rng.randint(0, 2 if name == "topk" else 1)]
    expect(program, program.do(name, x, *args), parts=None if decided else (0,))


def median(program, rng, name):
    dtype, sizes, x = tensor(program, rng, one_zero=True)
    if dtype not in FLOATING and 0 in sizes:
        dtype, sizes, x = tensor(program, rng, dtype, [3])
    expect(program, program.do(name, x))


def unique(program, rng, name):
    inverse = rng.random() < 0.5
    _, _, x = tensor(program, rng, one_zero=True, nan=not inverse)
    args = [Num(True), Num(inverse), Num(rng.random() < 0.6)][:3 if inverse else rng.choice((0, 1, 3, 3))]
    expect(program, program.do(name, x, *args))


def searchsorted(program, rng, name):
    dtype = rng.choice(tuple(DTYPES))
    other = dtype if rng.random() < 0.7 else rng.choice(tuple(DTYPES))
    rows = [] if rng.random() < 0.5 else random_sizes(rng)[:2]
    length = rng.choice((0, 1, 2, 5, 9, 30))
    numbers = [value for value in values_of(rng, dtype) if value == value]
    words = words_of(rng, dtype, numbers)
    boundaries = operand(program, rng, dtype, rows + [length], words)[1]
    sorter = None
    if rng.random() < 0.3:
        order = torch.argsort(program.value(boundaries), dim=-1, stable=True).contiguous()
        if order.numel() and rng.random() < 0.1:
            order.view(-1)[0] = rng.choice((-1, length, length + 3))
        flat = program.do("data", Bits("i64" if rng.random() < 0.95 else "i32", order.flatten().tolist()))
        sizes = list(order.shape) if rng.random() < 0.95 else [order.numel()]
        sorter = program.do("view", flat, sizes)
    elif rng.random() < 0.9:  # the boundaries themselves, in order
        ordered = torch.sort(program.value(boundaries), dim=-1)[0].flatten().tolist()
        flat = program.do("data", Bits(dtype, words_of(rng, dtype, ordered)))
        boundaries = program.do("view", flat, rows + [length])
    if rng.random() < 0.15:
        values = Num(rng.choice((0, 3, -2, 0.5, 2.25, True)))
    else:
        sizes = rows + [rng.choice((0, 1, 4, 7))] if rng.random() < 0.93 else random_sizes(rng)
        values = tensor(program, rng, other, sizes)[2]
    empty = 0 in rows + [length] or (not isinstance(values, Num) and program.value(values).numel() == 0)
    if empty and sorter is not None:
        raise NoAnswer
    if dtype == "bool" and (empty or isinstance(values, Num)):
        raise NoAnswer
    args = [Num(rng.random() < 0.2), Num(rng.random() < 0.5), sorter][:3 if sorter else rng.randint(0, 2)]
    expect(program, program.do(name, boundaries, values, *args))


def bincount(program, rng, name):
    dtype = rng.choice(INTEGRAL) if rng.random() < 0.93 else rng.choice(FLOATING + ("bool",))
    sizes = [rng.choice((0, 1, 5, 20, 60))] if rng.random() < 0.94 else random_sizes(rng)
    values = list(range(rng.choice((1, 3, 12)))) + ([-1] if dtype not in ("u8", "bool") and rng.random() < 0.06 else [])
    words = words_of(rng, dtype, [0, 1] if dtype == "bool" else values)
    x = operand(program, rng, dtype, sizes, words)[1]
    args = []
    if rng.random() < 0.6:
        weighed = sizes if rng.random() < 0.94 else [sum(sizes) + 1]
        args.append(tensor(program, rng, rng.choice(tuple(DTYPES)), weighed)[2] if rng.random() < 0.8 else None)
        if rng.random() < 0.5:
            args.append(rng.choice((0, 2, 15, -1)))
    expect(program, program.do(name, x, *args))


BUILDERS = {"cumsum": scan, "cumprod": scan, "cummax": extremes, "cummin": extremes, "logcumsumexp": logcumsumexp,
          "sort": sort, "argsort": sort, "topk": chosen, "kthvalue": chosen, "median": median, "median_dim": chosen,
          "unique": unique, "searchsorted": searchsorted, "bincount": bincount}


def numbered_case(program, rng, i):
    name = PLAIN[i % len(PLAIN)]
    BUILDERS[name](program, rng, name)
