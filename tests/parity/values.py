"""Values for the operands of pointwise ops, as words: bit patterns where the dtype is floating."""
import functools
import math
import random

import torch

from pointwise_ops import DIVIDES, HALVES, NO_NEGATIVE_ZERO
from program import BITS_OF, DTYPES, FLOATING, Num

# Values that are not drawn, because torch's answer is far from the true one or depends on the position in the vector.
SKIPPED = {
    # 1 + erf, 1 + e^-x, x - tanh(x), log(x / (1 - x)), max + log1p(...): cancellation that Pellucid avoids.
    "gelu": lambda x, dtype: x < -1 or abs(x) == math.inf or 0 < abs(x) < 1e-30,
    "ndtr": lambda x, dtype: x < (-0.25 if dtype in HALVES else -1),
    "tanhshrink": lambda x, dtype: 0 < abs(x) < 2,
    "logit": lambda x, dtype: (0.15 if dtype in HALVES else 0.35) < x < (0.85 if dtype in HALVES else 0.65),
    "softplus": lambda x, dtype: x < -3,
    "logaddexp": lambda x, dtype: -4 < x < 0,
    "logaddexp2": lambda x, dtype: -4 < x < 0,
    # e^-x overflows where the result is not yet 0.
    "sigmoid": lambda x, dtype: x < -80,
    "silu": lambda x, dtype: x < -80,
    "mish": lambda x, dtype: x < -80,
    # pi x is rounded, and infinite for the largest x.
    "sinc": lambda x, dtype: abs(x) > 2 or abs(abs(x) - 1) < 0.25 or abs(x) > 1.75,
    # x times 6 overflows.
    "hardswish": lambda x, dtype: abs(x) > (1e4 if dtype == "f16" else 1e30),
    # 0 or -0, depending on the place in the vector.
    "softshrink": lambda x, dtype: -3 < x < 0,
    # Of f16 and bf16 torch's polynomial has an absolute error.
    "erf": lambda x, dtype: dtype in HALVES and 0 < abs(x) < 0.01,
    # The power 0.5 of -inf is inf in one of torch's paths and NaN in the other.
    "pow": lambda x, dtype: dtype in HALVES and x == -math.inf,
    # NaN where the quotient overflows.
    "fmod": lambda x, dtype: x != 0 and not 2.0**-20 < abs(x) < 2.0**20,
    "remainder": lambda x, dtype: x != 0 and not 2.0**-20 < abs(x) < 2.0**20,
    # Of f16 and bf16 torch rounds the quotient before it rounds it down; of small whole numbers that is the same.
    **{name: lambda x, dtype: dtype in HALVES and not (abs(x) <= 12 and x == int(x))
       for name in ("floor_divide", "trunc_divide", "div")},
}


def uniform(rng, count, low, high):
    return [rng.uniform(low, high) for _ in range(count)]


def edges(dtype):
    info = torch.finfo(DTYPES[dtype])
    return [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, math.nan, info.max, -info.max, info.tiny, -info.tiny,
            info.tiny / 2, -info.tiny / 4, info.eps, 0.5, -0.5, 2.0, 1 + info.eps, 1 - info.eps]


def floats(rng, dtype, kind, name):
    info = torch.finfo(DTYPES[dtype])
    largest = {"f16": 15, "bf16": 127, "f32": 127, "f64": 1023}[dtype]
    signed = lambda low, high, count: [rng.choice((1, -1)) * rng.uniform(1, 2) * 2.0 ** rng.uniform(low, high)
                                       for _ in range(count)]
    common = edges(dtype) * 2 + [k / 2 for k in range(-12, 13)] + [float(k) for k in range(-9, 10)]
    values = {
        "any": lambda: (common + uniform(rng, 160, -4, 4) + uniform(rng, 90, -100, 100) + uniform(rng, 50, -1, 1) +
                        signed(-20, 12, 60) + signed(-largest, largest - 1, 60)),
        "unit": lambda: common + uniform(rng, 320, -1, 1) + [1 - 2.0**-k for k in range(12)] + signed(-20, -1, 60),
        "chance": lambda: common + uniform(rng, 320, 0, 1) + [1 - 2.0**-k for k in range(12)] +
        [abs(v) for v in signed(-20, -1, 60)],
        "positive": lambda: common + [abs(v) for v in uniform(rng, 250, 0, 20) + signed(-largest, largest - 1, 100)],
        "above_one": lambda: common + [1 + abs(v) for v in uniform(rng, 250, 0, 20) + signed(-20, largest - 2, 100)],
        "modest": lambda: [k / 4 for k in range(-40, 41)] + uniform(rng, 200, -4, 4) + uniform(rng, 40, -30, 30),
    }["modest" if kind == "with_zeros" else kind]()
    tensor = torch.tensor(values, dtype=torch.float64).to(DTYPES[dtype])
    words = [word & ((1 << info.bits) - 1) for word in tensor.view(BITS_OF[dtype]).tolist()]
    skipped = SKIPPED.get(name, lambda value, dtype: False)
    sign = 1 << (info.bits - 1)
    pool = []
    for value, word in zip(tensor.tolist(), words):
        if value != value:
            pool.append(word | (sign if rng.random() < 0.5 else 0))
        elif not skipped(value, dtype) and not (name in NO_NEGATIVE_ZERO and word == sign):
            pool.append(word)
    return pool


def integers(rng, dtype, kind, name):
    if dtype == "bool":
        return [0] if name == "sinc" else [0, 1]  # torch's sinc(1) is not 0
    if kind == "with_zeros":
        return [0, 1, 2]
    info = torch.iinfo(DTYPES[dtype])
    small = [k for k in range(-12, 13) if k >= info.min]
    if name in DIVIDES:
        small = [k for k in small if k != 0]
    if kind == "modest" or name == "softsign":  # torch's softsign adds 1 to an integer, which may overflow
        return small
    wide = [info.min, info.max, info.max - 1, info.min + 1] * 2
    wide += [rng.randint(info.min, info.max) for _ in range(10)]
    wide += [rng.randint(info.min, info.max) >> rng.randint(0, info.bits - 4) for _ in range(30)]
    # The smallest integer divided by -1 ends torch with a signal.
    values = small * 2 + [k for k in wide if name not in DIVIDES or k not in (0, info.min)]
    skipped = SKIPPED.get(name)
    return [k for k in values if name in DIVIDES or not skipped or not skipped(k, dtype)]


@functools.cache
def pool(dtype, kind, name):
    """Words of a dtype to draw from."""
    return (floats if dtype in FLOATING else integers)(random.Random(f"{dtype} {kind} {name}"), dtype, kind, name)


# Exact in every floating dtype; and some that are not, for f32 and f64.
EXACT = (0.5, -0.5, 1.0, 1.5, -1.25, 2.0, -3.0, 0.25, 3.5, 0.0, 8.0)
ROUGH = (0.1, -0.3, 1 / 3, 2.7, -1.1, 1e-3, 12.34)
WHOLE = (0, 1, 2, 3, -1, -2, 5, 7)


def number(rng, dtype, name=""):
    """A number used with a tensor of the dtype."""
    roll = rng.random()
    if roll < 0.4:
        value = rng.choice(WHOLE)
    elif roll < 0.5:
        value = rng.random() < 0.5
    elif roll < 0.75 or dtype in HALVES or name in ("pow", "float_power"):
        value = rng.choice(EXACT)
    else:
        value = rng.choice(ROUGH)
    if dtype == "u8" and isinstance(value, float):
        value = abs(value)
    return Num(value)
