"""sum over some axes or all: of small whole numbers, which are exact in any order, and of rough positive ones."""
import torch

from families.copies import NON_OVERLAPPING
from families.pointwise import operand, random_sizes
from layouts import random_axis
from program import Bits, BITS_OF, DTYPES, DTYPE_NAMES, FLOATING, INTEGRAL, Num, OPS


def torch_sum(x, axes=(), keep=Num(False), dtype=None):
    return torch.sum(x, dim=list(axes), keepdim=keep.value, **({} if dtype is None else {"dtype": DTYPES[dtype]}))


OPS["sum"] = torch_sum
ROUGH_STEPS = 4  # of f32 and f64: the sums of at most 36 positive numbers, in another order


def words_of(rng, dtype, values):
    if dtype not in FLOATING:
        return [int(value) for value in values]
    tensor = torch.tensor(values, dtype=torch.float64).to(DTYPES[dtype])
    return [word & ((1 << (8 * tensor.itemsize)) - 1) for word in tensor.view(BITS_OF[dtype]).tolist()]


def case(program, rng):
    dtype = rng.choice(list(DTYPES))
    given = rng.choice(list(DTYPES)) if rng.random() < 0.3 else None
    rough = dtype in FLOATING and given in (None, *FLOATING) and rng.random() < 0.4
    if dtype == "bool":
        values = [0, 1]
    elif rough:
        values = [rng.uniform(0.1, 9) for _ in range(40)]
    elif dtype in FLOATING and given not in (*INTEGRAL, "bool"):
        values = [*range(-8, 9), 0.5, -1.5, *rng.choice(([], [], [float("inf")], [float("nan")], [-0.0]))]
    elif dtype in FLOATING:
        values = list(range(0, 6))
    else:
        info = torch.iinfo(DTYPES[dtype])
        values = [*range(0, 9), -3 if info.min else 3, *([info.max, info.min] if given in (None, "i64") else [])]
    sizes = random_sizes(rng)
    _, x = operand(program, rng, dtype, sizes, words_of(rng, dtype, values))
    args = [x]
    if rng.random() < 0.8:
        axes = rng.sample(range(len(sizes)), rng.randint(0, len(sizes)))
        axes = [axis - len(sizes) if rng.random() < 0.3 else axis for axis in axes]
        if rng.random() < 0.06:
            axes.append(random_axis(rng, len(sizes), bad=True))
        args.append(axes)
        if given or rng.random() < 0.5:
            args.append(Num(rng.random() < 0.5))
        if given:
            args.append(given)
    result = program.do("sum", *args)
    if program.error is None:
        dtype = DTYPE_NAMES[program.value(result).dtype]
        steps = 1 if dtype in ("f16", "bf16") else ROUGH_STEPS
        program.expect_result(result, f"steps:{steps}" if rough and dtype in FLOATING else "tensor")
