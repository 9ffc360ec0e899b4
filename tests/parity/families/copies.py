"""copy_, fill_ and zero_ through views, looked at through the whole memory; casts of chosen values."""
import math
import struct

import torch

from families.creation import draw_again_if_contradictory, random_number
from layouts import random_sizes, random_tensor
from program import Bits, DTYPES, FLOATING, INTEGRAL, NoAnswer

NON_OVERLAPPING = ("dense", "permuted", "gaps")
RANGE = {"i64": (-1 << 63, (1 << 63) - 1), "i32": (-1 << 31, (1 << 31) - 1), "i16": (-1 << 15, (1 << 15) - 1),
         "i8": (-128, 127), "u8": (0, 255)}
# Where rounding to a narrower type turns: ties, the largest finite values, denormals, and values that tie only after
# a first rounding to f32.
EDGES = [
    0.0, -0.0, 0.5, -0.5, 1.0, 1.5, -1.5, 2.5, 0.1, 1 / 3, -2.9999, 127.0, 127.9, -128.0, 255.0, 255.9, 32767.5, 2049.0,
    2051.0, 4099.0, 65504.0, 65519.0, 65519.996, 65520.0, -65520.0, 1e5, 2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-26,
    2.0**-25 + 2.0**-40, 2.0**-26, 6.0e-5, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, 1 + 2.0**-11,
    1 + 3 * 2.0**-11, 1 + 2.0**-24, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 3.3895313892515355e38,
    3.4028234663852886e38, 3.4028235677973366e38, 3.4e38, 1.17549435e-38, 1e-40, 1.4e-45, 7e-46, 1e-46, 9.2e-41, 1e300,
    5e-324, 2147483647.0, 4294967295.5, 9007199254740993.0, 9.2e18, math.inf, -math.inf, math.nan,
]


def bits_of(value, dtype):
    """The value rounded to the dtype, as bits."""
    tensor = torch.tensor([value], dtype=torch.float64).to(DTYPES[dtype])
    width = tensor.itemsize
    raw = tensor.view({8: torch.int64, 4: torch.int32, 2: torch.int16}[width]).item()
    return raw & ((1 << (8 * width)) - 1)


def value_of(bits, dtype):
    return Bits(dtype, [bits]).torch().double().item()


def random_float_bits(rng, dtype):
    roll = rng.random()
    width = 8 * DTYPES[dtype].itemsize
    if roll < 0.35:
        return bits_of(rng.choice(EDGES) * rng.choice((1, 1, -1)), dtype)
    if roll < 0.5:
        return rng.getrandbits(width)
    if roll < 0.75:
        return bits_of(rng.uniform(-1, 1) * 2.0 ** rng.randint(-30, 64), dtype)
    # An f16 or bf16 tie, moved by the last bit of the source or not at all.
    mantissa = rng.choice((8, 11))
    tie = (rng.getrandbits(mantissa) * 2 + 1) * 2.0 ** rng.randint(-28, 5)
    return bits_of(tie * (1 + rng.choice((0, 0, 2.0**-22, -(2.0**-23), 2.0**-45, -(2.0**-46)))), dtype)


def random_integer(rng, dtype):
    if dtype == "bool":
        return rng.randint(0, 1)
    low, high = RANGE[dtype]
    value = rng.choice((low, high, 0, 1, high - 1, rng.randint(low, high), rng.randint(max(low, -300), min(high, 300)),
                        (1 << 24) + 1, (1 << 24) + 3, (1 << 53) + 1, 2049, 2051, 65520, 65519, 257, -1,
                        rng.randint(low, high) >> 7))
    return value if low <= value <= high else rng.randint(low, high)


def cast_values(rng, source, target, count):
    """Values of `source` that `target` has a place for: where a float has no integer, Pellucid defines the result."""
    values = []
    while len(values) < count:
        if source not in FLOATING:
            values.append(random_integer(rng, source))
            continue
        bits = random_float_bits(rng, source)
        if target in INTEGRAL:
            value = value_of(bits, source)
            if not math.isfinite(value) or not RANGE[target][0] <= math.trunc(value) <= RANGE[target][1]:
                continue
        values.append(bits)
    return values


def pair_case(program, rng, source, target):
    data = program.do("data", Bits(source, cast_values(rng, source, target, 48)))
    program.expect_result(program.do("to", data, target))


def cast(program, rng):
    source, target = rng.choice(list(DTYPES)), rng.choice(list(DTYPES))
    data = program.do("data", Bits(source, cast_values(rng, source, target, rng.choice((1, 3, 7, 16, 33, 40)))))
    if rng.random() < 0.5:
        program.expect_result(program.do("to", data, target))
        return
    if rng.random() < 0.4:
        data = program.do("slice", data, 0, rng.choice((None, 1)), None, rng.choice((2, 3)))
    memory, dst = random_tensor(program, rng, target, sizes=list(program.value(data).shape), layouts=NON_OVERLAPPING)
    program.do("copy_", dst, data)
    program.expect_tensor(memory)


def broadcastable_to(rng, sizes):
    sizes = [1 if rng.random() < 0.25 else size for size in sizes]
    while sizes and rng.random() < 0.2:
        sizes = sizes[1:]
    if rng.random() < 0.05:
        sizes = [1] + sizes
    if rng.random() < 0.1:
        at = rng.randint(0, len(sizes))
        sizes = sizes[:at] + [rng.choice((2, 3, 6))] + sizes[at:]
    return sizes


def copy(program, rng):
    sizes = random_sizes(rng)
    if rng.random() < 0.06:  # large enough for every path of a copy kernel
        sizes = rng.choice(([67, 65], [3, 40, 33], [128, 64], [5000], [16, 16, 16], [2, 3, 17, 31]))
    target = rng.choice(list(DTYPES))
    layouts = NON_OVERLAPPING if rng.random() < 0.9 else ("expanded",)
    memory, dst = random_tensor(program, rng, target, sizes=sizes, layouts=layouts)
    if torch.Size(sizes).numel() > 100 and target in ("i8", "u8"):
        source = rng.choice(("i64", "i32", "i16", "i8", "u8", "bool"))
    else:
        source = rng.choice(list(DTYPES)) if rng.random() < 0.7 else target
    _, src = random_tensor(program, rng, source, sizes=broadcastable_to(rng, sizes))
    if source in FLOATING and target in ("i8", "u8") and program.value(src).numel() and program.value(src).max() > 127:
        raise NoAnswer
    result = program.do("copy_", dst, src)
    if program.error is None:
        program.expect_tensor(memory)
        program.expect(result, f"same {dst}")


def overlap(program, rng):
    """Both sides in one memory. Equal and disjoint places are fine; a dense place that partly overlaps is an error."""
    rows, columns = rng.randint(2, 6), rng.randint(2, 6)
    memory = program.do("in", "i64", rows * columns)
    x = program.do("view", memory, [rows, columns])
    axis = rng.randint(0, 1)
    length = rng.randint(1, (rows, columns)[axis])
    starts = [rng.randint(0, (rows, columns)[axis] - length) for _ in range(2)]
    dst, src = (program.do("narrow", x, axis, start, length) for start in starts)
    places = [set(program.value(ref).flatten().tolist()) for ref in (dst, src)]
    program.do("copy_", dst, src)
    if program.error is None:
        if places[0] != places[1] and places[0] & places[1]:  # torch did not look: the result depends on the order
            raise NoAnswer
        program.expect_tensor(memory)


def fill(program, rng):
    dtype = rng.choice(list(DTYPES))
    memory, x = random_tensor(program, rng, dtype, max_rank=4)
    if rng.random() < 0.3:
        result = program.do("zero_", x)
    else:
        number = random_number(rng, dtype)
        result = program.do("fill_", x, number)
        draw_again_if_contradictory(program, result, number)
    if program.error is None:
        program.expect_tensor(memory)
        program.expect(result, f"same {x}")


BUILDERS = (copy, copy, copy, cast, cast, cast, overlap, fill, fill)


def case(program, rng):
    rng.choice(BUILDERS)(program, rng)
