"""The last names of PyTorch's core set: scattering into slices, bags of embeddings, distances, and images.

Not drawn: NaN; values whose sums depend on their order; slices of overlapping tensors, whose memory torch copies as it
is. Not compared: strides of results, which are row-major here."""
import torch

from families.losses import HALVES, tensor
from families.picking import NON_OVERLAPPING, index_tensor, judged, small_words, smaller
from families.pointwise import operand
from families.reductions import words_of
from families.sorting import expect
from layouts import random_axis, random_sizes
from program import Bits, DTYPES, NoAnswer, Num, OPS

aten = torch.ops.aten


def in_f32(call):
    def run(*arguments):
        first = next(a for a in arguments if isinstance(a, torch.Tensor))
        wide = [a.float() if isinstance(a, torch.Tensor) and a.dtype in HALVES else a for a in arguments]
        return call(*wide).to(first.dtype)
    return run


OPS.update({name: judged(call) for name, call in {
    "split_with_sizes": torch.split_with_sizes,
    # torch copies the whole storage of its input.
    "select_scatter": lambda *arguments: torch.select_scatter(*arguments).clone(),
    "slice_scatter": lambda *arguments: torch.slice_scatter(*arguments).clone(),
    "masked_scatter": torch.masked_scatter,
    "scatter_reduce": lambda x, dim, index, src, reduce, own: torch.scatter_reduce(
        x, dim, index, src, reduce, include_self=own.value),
    "embedding_dense_backward": lambda g, i, count, padding, scale: aten.embedding_dense_backward(
        g, i, count, padding, scale.value),
    "_embedding_bag": lambda w, i, o, scale, mode, sparse, weights, last, padding: aten._embedding_bag(
        w, i, o, False, mode, False, weights, last.value, padding),
    "_cdist_forward": in_f32(lambda a, b, p: aten._cdist_forward(a, b, p.value, 2)),
    "_pdist_forward": lambda x, p: aten._pdist_forward(x.contiguous(), p.value),
    "col2im": aten.col2im,
    "grid_sampler_2d": in_f32(lambda x, grid, mode, padding, align: aten.grid_sampler_2d(
        x, grid, mode, padding, align.value)),
}.items()})
NAMES = ("split_with_sizes", "select_scatter", "slice_scatter", "masked_scatter", "scatter_reduce", "scatter_reduce",
         "embedding_dense_backward", "_embedding_bag", "_cdist_forward", "_pdist_forward", "col2im", "grid_sampler_2d")


def any_tensor(program, rng, dtype, sizes):
    return operand(program, rng, dtype, sizes, small_words(dtype))[1]


def split_with_sizes(program, rng):
    sizes = random_sizes(rng, max_rank=3, max_numel=60) or [3]
    dim = random_axis(rng, len(sizes))
    left, pieces = sizes[dim], []
    while left > 0:
        pieces.append(rng.randint(0, left))
        left -= pieces[-1]
    if rng.random() < 0.08:
        pieces.append(rng.choice((1, -1)))
    x = any_tensor(program, rng, rng.choice(list(DTYPES)), sizes)
    program.expect_result(program.do("split_with_sizes", x, pieces, dim))


def slices(program, rng, name):
    sizes = random_sizes(rng, max_rank=3, max_numel=60) or [3]
    dtype = rng.choice(list(DTYPES))
    dim = random_axis(rng, len(sizes))
    x = operand(program, rng, dtype, sizes, small_words(dtype), layouts=NON_OVERLAPPING)[1]
    if name == "select_scatter":
        place = [rng.randint(-sizes[dim], sizes[dim] - 1 if rng.random() > 0.05 else sizes[dim])] if sizes[dim] else [0]
        slot = [size for axis, size in enumerate(sizes) if axis != dim % len(sizes)]
        order = [dim, *place]
    else:
        start, end, step = rng.choice((None, 0, 1, -2)), rng.choice((None, 2, -1, 9)), rng.choice((1, 1, 2, 3))
        slot = list(torch.empty(sizes).numpy()[tuple(slice(start, end, step) if axis == dim % len(sizes) else slice(None)
                                                     for axis in range(len(sizes)))].shape)
        order = [dim, start, end, step]
    if rng.random() < 0.06:
        slot = slot + [2]
    src = any_tensor(program, rng, dtype, slot)
    return program.do(name, x, src, *order)


def masked_scatter(program, rng):
    sizes = random_sizes(rng, max_rank=3, max_numel=60)
    dtype = rng.choice(list(DTYPES))
    x = any_tensor(program, rng, dtype, sizes)
    mask = operand(program, rng, "bool", sizes if rng.random() < 0.7 else sizes[-1:], [0, 1, 1])[1]
    count = int(program.value(mask).expand(sizes).sum()) if program.value(mask).dim() <= len(sizes) else 0
    source = any_tensor(program, rng, dtype, [count + rng.choice((0, 1, 5))])
    return program.do("masked_scatter", x, mask, source)


def scatter_reduce(program, rng):
    sizes = random_sizes(rng, max_rank=3, max_numel=60)
    dtype = rng.choice([name for name in DTYPES if name != "bool"])
    dim = random_axis(rng, len(sizes))
    index_sizes = smaller(rng, sizes, dim) if sizes else []
    size = sizes[dim] if sizes else 1
    if size == 0:
        raise NoAnswer
    x = any_tensor(program, rng, dtype, sizes)
    index = index_tensor(program, rng, index_sizes, size, bad=rng.random() < 0.03, dtypes=("i64",))
    src = any_tensor(program, rng, dtype, index_sizes)
    reduce = rng.choice(("sum", "prod", "amax", "amin", "mean"))
    if reduce == "prod" and dtype in ("f16", "bf16", "i8", "u8"):
        reduce = "sum"  # products grow beyond what is exact
    if reduce == "mean" and dtype in ("u8", "i8", "i16"):
        reduce = "amax"
    return program.do("scatter_reduce", x, dim, index, src, reduce if rng.random() > 0.03 else "median",
                      Num(rng.random() < 0.5))


def embedding_dense_backward(program, rng):
    rows, width = rng.choice((2, 5, 9)), rng.choice((1, 3, 8))
    dtype = rng.choice(("f32", "f64"))
    index_sizes = rng.choice(([4], [2, 3], [0], [7]))
    index = operand(program, rng, "i64", index_sizes, list(range(rows)))[1]
    grad = any_tensor(program, rng, dtype, [*index_sizes, width])
    return program.do("embedding_dense_backward", grad, index, rows, rng.choice((-1, -1, 0, 1)),
                      Num(rng.random() < 0.3))


def embedding_bag(program, rng):
    rows, width, count = rng.choice((3, 7)), rng.choice((1, 4, 9)), rng.randint(1, 9)
    dtype = rng.choice(("f32", "f64"))
    weight = operand(program, rng, dtype, [rows, width], small_words(dtype), layouts=("dense",))[0]
    if list(program.value(weight).shape) != [rows, width]:
        weight = program.do("as_strided", weight, [rows, width], [width, 1], 0)
    ids = program.do("data", Bits("i64", [rng.randrange(rows) for _ in range(count)]))
    offsets = [0, *sorted(rng.randint(0, count) for _ in range(rng.randint(0, 3)))]
    last = rng.random() < 0.3
    starts = program.do("data", Bits("i64", offsets + ([count] if last else [])))
    mode = rng.randrange(3)
    weights = None
    if mode == 0 and rng.random() < 0.4:
        weights = program.do("data", Bits(dtype, [small_words(dtype)[rng.randrange(4)] for _ in range(count)]))
    bags = program.do("_embedding_bag", weight, ids, starts, Num(False), mode, Num(False), weights, Num(last),
                      rng.choice((-1, -1, 0)))
    return program.do("pick", bags, 0) if program.error is None else bags


def distances(program, rng, name):
    dtype = rng.choice(("f32", "f64"))
    p = Num(rng.choice((0.0, 1.0, 2.0, 2.0, 3.0, float("inf"))))
    width = rng.choice((1, 4, 33))
    values = [*range(-3, 4), 0.5]
    if name == "_pdist_forward":
        x = tensor(program, rng, dtype, [rng.choice((1, 2, 5, 9)), width], values)
        return program.do(name, x, p)
    lead = rng.choice(([], [2]))
    a = tensor(program, rng, dtype, [*lead, rng.choice((1, 3)), width], values)
    b = tensor(program, rng, dtype, [*lead, rng.choice((1, 5)), width + (rng.random() < 0.04)], values)
    return program.do(name, a, b, p)


def col2im(program, rng):
    kernel = [rng.randint(1, 3), rng.randint(1, 3)]
    dilation, stride = [rng.randint(1, 2), rng.randint(1, 2)], [rng.randint(1, 3), rng.randint(1, 3)]
    padding, size = [rng.randint(0, 1), rng.randint(0, 1)], [rng.randint(3, 7), rng.randint(3, 7)]
    blocks = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, p, d, k, t in zip(size, padding, dilation, kernel, stride)]
    if min(blocks) < 1:
        raise NoAnswer
    dtype = rng.choice(("f32", "f64"))
    lead = rng.choice(([], [2]))
    sizes = [*lead, 2 * kernel[0] * kernel[1], blocks[0] * blocks[1] + (rng.random() < 0.05)]
    x = any_tensor(program, rng, dtype, sizes)
    return program.do("col2im", x, size, kernel, dilation, padding, stride)


def grid_sampler(program, rng):
    dtype = rng.choice(("f32", "f64"))
    x = tensor(program, rng, dtype, [2, rng.choice((1, 3)), rng.randint(1, 5), rng.randint(1, 5)], [1, 2, 3, 5])
    grid = tensor(program, rng, dtype, [2, rng.randint(2, 3), 3, 2],
                  [-1.3, -0.6, -0.21, 0.13, 0.37, 0.7, 1.2, 2.3])
    return program.do("grid_sampler_2d", x, grid, rng.randrange(3), rng.randrange(3), Num(rng.random() < 0.5))


def numbered_case(program, rng, number):
    name = NAMES[number % len(NAMES)]
    if name == "split_with_sizes":
        return split_with_sizes(program, rng)
    if name in ("select_scatter", "slice_scatter"):
        result = slices(program, rng, name)
    elif name.endswith("dist_forward"):
        result = distances(program, rng, name)
    else:
        result = {"masked_scatter": masked_scatter, "scatter_reduce": scatter_reduce, "col2im": col2im,
                  "embedding_dense_backward": embedding_dense_backward, "_embedding_bag": embedding_bag,
                  "grid_sampler_2d": grid_sampler}[name](program, rng)
    if program.error is None:
        result = program.do("contiguous", result)
    near = name.endswith("dist_forward") or name in ("grid_sampler_2d", "_embedding_bag", "embedding_dense_backward",
                                                     "scatter_reduce")
    expect(program, result, "near" if near else "tensor")
