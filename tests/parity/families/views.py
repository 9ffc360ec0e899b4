"""Chains of one to four view ops on random layouts. About one case in four is an error."""
import torch

from layouts import random_axis, random_tensor, span
from program import DTYPES

HUGE = 1 << 62


def factors(rng, number, parts):
    """`parts` sizes whose product is `number`."""
    sizes = [1] * parts
    for prime in (2, 3, 5, 7):
        while number > 1 and number % prime == 0:
            sizes[rng.randrange(parts)] *= prime
            number //= prime
    sizes[rng.randrange(parts)] *= number
    return sizes


def maybe_negative(rng, axes, rank):
    return [axis - rank if rng.random() < 0.3 else axis for axis in axes]


def args_t(rng, x, bad):
    return []


def args_transpose(rng, x, bad):
    axes = [random_axis(rng, x.dim(), bad), random_axis(rng, x.dim())]
    rng.shuffle(axes)
    return axes


def args_permute(rng, x, bad):
    rank = x.dim()
    axes = maybe_negative(rng, rng.sample(range(rank), rank), rank)
    if bad:
        wrong = rng.choice(("short", "long", "twice", "range"))
        if wrong == "long" or not axes:
            axes.append(0)
        elif wrong == "short":
            axes.pop()
        elif wrong == "twice" and rank > 1:
            axes[0] = axes[1] - rank if axes[1] >= 0 and rng.random() < 0.5 else axes[1]
        else:
            axes[rng.randrange(rank)] = random_axis(rng, rank, bad=True)
    return [axes]


def args_movedim(rng, x, bad):
    rank = x.dim()
    count = rng.randint(0, rank)
    source = maybe_negative(rng, rng.sample(range(rank), count), rank)
    destination = maybe_negative(rng, rng.sample(range(rank), count), rank)
    if bad:
        wrong = rng.choice(("length", "twice", "range"))
        side = rng.choice((source, destination))
        if wrong == "length" or not side:
            side.append(0)
        elif wrong == "twice" and count > 1:
            side[0] = side[1]
        else:
            side[0] = random_axis(rng, rank, bad=True)
    return [source, destination]


def args_view(rng, x, bad):
    sizes = list(x.shape)
    if rng.random() < 0.3:
        sizes = factors(rng, x.numel(), rng.randint(1, 4)) if x.numel() else sizes
    else:  # split, merge and pad the axes that are there: often possible without a copy
        for _ in range(rng.randint(1, 3)):
            action = rng.choice(("split", "merge", "pad"))
            axis = rng.randrange(len(sizes)) if sizes else 0
            if action == "split" and sizes and sizes[axis] > 1:
                sizes[axis:axis + 1] = factors(rng, sizes[axis], 2)
            elif action == "merge" and axis + 1 < len(sizes):
                sizes[axis:axis + 2] = [sizes[axis] * sizes[axis + 1]]
            else:
                sizes.insert(axis, 1)
    if sizes and rng.random() < 0.3:
        sizes[rng.randrange(len(sizes))] = -1
    if bad:
        wrong = rng.choice(("numel", "two", "negative", "indivisible", "huge", "zero"))
        at = rng.randrange(len(sizes)) if sizes else 0
        if not sizes:
            sizes = [rng.choice((2, 3, -2))]
        elif wrong == "two":
            sizes = sizes + [-1, -1]
        elif wrong == "negative":
            sizes[at] = rng.choice((-2, -3))
        elif wrong == "indivisible":
            sizes = [-1, x.numel() + 1]
        elif wrong == "huge":
            sizes[at] = rng.choice((HUGE, 1 << 40))
        elif wrong == "zero":
            sizes[at] = 0
        else:
            sizes[at] = sizes[at] + 1 if sizes[at] > 0 else 11
    return [sizes]


def args_expand(rng, x, bad):
    sizes = []
    for size in x.shape:
        if size == 1 and rng.random() < 0.7:
            sizes.append(rng.choice((0, 1, 2, 3, 4)))
        else:
            sizes.append(-1 if rng.random() < 0.3 else size)
    sizes = [rng.choice((0, 1, 2, 2, 3)) for _ in range(rng.choice((0, 0, 1, 2)))] + sizes
    if bad:
        wrong = rng.choice(("size", "fewer", "leading", "negative"))
        if wrong == "fewer" and x.dim():
            sizes = sizes[-x.dim():][1:]
        elif wrong == "leading" or not sizes:
            sizes = [-1] + sizes
        elif wrong == "negative":
            sizes[rng.randrange(len(sizes))] = -2
        else:
            at = rng.randrange(len(sizes))
            sizes[at] = sizes[at] + 6
    return [sizes]


def args_squeeze(rng, x, bad):
    rank = x.dim()
    ones = [axis for axis, size in enumerate(x.shape) if size == 1]
    pool = ones if ones and rng.random() < 0.7 else range(rank)
    axes = maybe_negative(rng, rng.sample(pool, rng.randint(0, min(3, len(pool)))), rank)
    if rank == 0 and rng.random() < 0.5:
        axes = [rng.choice((0, -1))]
    if bad:
        if len(axes) > 0 and rng.random() < 0.4:
            axes.append(axes[0])
        else:
            axes.append(random_axis(rng, rank, bad=True))
    return [axes]


def args_unsqueeze(rng, x, bad):
    return [random_axis(rng, x.dim() + 1, bad)]


def args_select(rng, x, bad):
    axis = random_axis(rng, x.dim(), bad and rng.random() < 0.5)
    size = x.shape[axis] if x.dim() and -x.dim() <= axis < x.dim() else 3
    index = rng.randint(-size, size - 1) if size and not bad else rng.choice((size, size + 4, -size - 1, HUGE))
    return [axis, index]


def random_bounds(rng, size):
    """Start and stop: mostly a part that is there, else anything."""
    if size and rng.random() < 0.6:
        start = rng.randrange(size)
        stop = rng.randint(start + 1, size)
        return (rng.choice((start, start, start - size)) if start or rng.random() < 0.5 else None,
                rng.choice((stop, stop, stop - size, stop + 3)) if stop < size or rng.random() < 0.5 else None)
    return [rng.choice((None, rng.randint(-size - 2, size + 2), rng.randint(-size - 2, size + 2), rng.randint(0, size),
                        rng.choice((HUGE, -HUGE, (1 << 63) - 1, 0)))) for _ in range(2)]


def args_slice(rng, x, bad):
    wrong = rng.choice(("axis", "step", "step")) if bad else None
    axis = random_axis(rng, x.dim(), wrong == "axis")
    size = x.shape[axis] if x.dim() and wrong != "axis" else 3
    step = rng.choice((0, -1, -2)) if wrong == "step" else rng.choice((1, 1, 1, 2, 3, 9))
    return [axis, *random_bounds(rng, size), step]


def args_narrow(rng, x, bad):
    wrong = rng.choice(("axis", "start", "length", "negative")) if bad else None
    axis = random_axis(rng, x.dim(), wrong == "axis")
    size = x.shape[axis] if x.dim() and wrong != "axis" else 3
    start = rng.randint(0, size)
    length = rng.randint(0, size - start)
    if start < size and rng.random() < 0.3:
        start -= size
    if wrong == "start":
        start = rng.choice((size + 1, -size - 1))
    if wrong == "length":
        length = size + 1
    if wrong == "negative":
        length = -1
    return [axis, start, length]


def args_split(rng, x, bad):
    wrong = rng.choice(("axis", "size")) if bad else None
    axis = random_axis(rng, x.dim(), wrong == "axis")
    return [rng.choice((0, -1)) if wrong == "size" else rng.choice((1, 1, 2, 3, 5)), axis]


def args_unbind(rng, x, bad):
    return [random_axis(rng, x.dim(), bad)]


def args_flatten(rng, x, bad):
    reach = max(x.dim(), 1)
    start, end = sorted((rng.randrange(reach), rng.randrange(reach)))
    if bad and start != end and rng.random() < 0.5:
        return [end, start]
    start, end = maybe_negative(rng, [start, end], reach)
    return [random_axis(rng, x.dim(), bad=True), end] if bad else [start, end]


def args_unflatten(rng, x, bad):
    wrong = rng.choice(("axis", "product", "none", "two")) if bad else None
    axis = random_axis(rng, x.dim(), wrong == "axis")
    size = x.shape[axis] if x.dim() and wrong != "axis" else 6
    sizes = factors(rng, size, rng.randint(1, 3)) if size else [0, rng.randint(0, 3)]
    if rng.random() < 0.4:
        sizes[rng.randrange(len(sizes))] = -1
    if wrong == "product":
        sizes = [size + 1]
    if wrong == "none":
        sizes = []
    if wrong == "two":
        sizes = sizes + [-1, -1]
    return [axis, sizes]


def args_diagonal(rng, x, bad):
    offset = rng.randint(-4, 4)
    if x.dim() < 2:
        return [offset, 0, 1]
    axes = maybe_negative(rng, rng.sample(range(x.dim()), 2), x.dim())
    if bad:
        axes[1] = axes[0] if rng.random() < 0.5 else random_axis(rng, x.dim(), bad=True)
    return [offset, *axes]


def args_as_strided(rng, x, bad):
    memory = x.untyped_storage().nbytes() // x.itemsize
    rank = rng.randint(0, 4)
    while True:
        sizes = [rng.choice((0, 1, 2, 2, 3, 4)) for _ in range(rank)]
        strides = [rng.choice((0, 1, 1, 2, 3, 5)) for _ in range(rank)]
        slack = memory - span(sizes, strides)
        if slack >= 0:
            break
        rank = max(rank - 1, 0)
        if memory == 0:
            sizes, strides, slack = [0], [1], 0
            break
    offset = rng.choice((None, rng.randint(0, slack), rng.randint(0, slack)))
    if bad:
        wrong = rng.choice(("length", "negative size", "negative stride", "negative offset", "outside", "outside"))
        if wrong == "length":
            strides = strides + [1]
        elif wrong == "negative size" and sizes:
            sizes[0] = -1
        elif wrong == "negative stride" and sizes:
            strides[-1] = -1
        elif wrong == "negative offset":
            offset = -1
        elif 0 not in sizes:
            offset = slack + rng.randint(1, 3)
    return [sizes, strides, offset]


ARGS = {
    "t": (args_t, 3), "transpose": (args_transpose, 10), "permute": (args_permute, 10), "movedim": (args_movedim, 8),
    "view": (args_view, 16), "reshape": (args_view, 12), "expand": (args_expand, 9), "squeeze_all": (args_t, 4),
    "squeeze": (args_squeeze, 7), "unsqueeze": (args_unsqueeze, 5), "select": (args_select, 8),
    "slice": (args_slice, 12), "narrow": (args_narrow, 8), "split": (args_split, 7), "chunk": (args_split, 7),
    "unbind": (args_unbind, 5), "flatten": (args_flatten, 8), "unflatten": (args_unflatten, 7),
    "diagonal": (args_diagonal, 8), "as_strided": (args_as_strided, 7), "contiguous": (args_t, 5),
}
NAMES = list(ARGS)
WEIGHTS = [weight for _, weight in ARGS.values()]
MAX_NUMEL = 4000  # a chain of expands grows


def step(program, rng, ref):
    """One random view op on a register; None where the result would be too large to look at."""
    op = rng.choices(NAMES, WEIGHTS)[0]
    x = program.value(ref)
    if op == "expand" and x.numel() > 200:
        op = "transpose"
    arguments = ARGS[op][0](rng, x, bad=rng.random() < 0.09)
    return program.do(op, ref, *arguments)


def case(program, rng):
    dtype = "i64" if rng.random() < 0.8 else rng.choice(list(DTYPES))
    _, last = random_tensor(program, rng, dtype)
    for left in reversed(range(rng.choice((1, 1, 2, 2, 3, 4)))):
        last = step(program, rng, last)
        if program.error:
            return
        result = program.value(last)
        if not isinstance(result, torch.Tensor):
            if not left or not result:  # unbind of an axis of size 0 is an empty list
                break
            last = program.do("pick", last, rng.randrange(len(result)))
            result = program.value(last)
        if isinstance(result, torch.Tensor) and result.numel() > MAX_NUMEL:
            break
    program.expect_result(last)
    if program.steps[-1].startswith("contiguous"):
        before = program.registers[-2]
        if isinstance(before, torch.Tensor) and program.value(last) is before:
            program.expect(last, f"same %{last.number - 1}")
