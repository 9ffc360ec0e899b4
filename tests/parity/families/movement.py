"""Ops that join, repeat, move and pad.

Where Pellucid differs from torch on purpose, no case is drawn:

- Results are row-major; only flip keeps the order of axes, as torch's does.
- An axis out of range is refused also where there are no elements, and where all tensors that are joined are [0].
- Padding takes bool in every mode. What circular padding cuts off at one end does not come back at the other, and
  cannot make it wrap twice; torch reads memory that nothing was written to.
- output_size must be right also where there are no slices; torch does not look then.
- The number of repeats of a tensor without axes may not be given with an axis.
"""
import torch

from families.picking import expect_row_major, expect_written, judged
from families.pointwise import operand
from layouts import random_axis, random_sizes, random_tensor
from program import DTYPES, NoAnswer, Num, OPS

NON_OVERLAPPING = ("dense", "permuted", "gaps")
pad = torch.nn.functional.pad


def torch_pad(x, padding, mode="constant", value=None):
    return pad(x, padding, mode, None if value is None else value.value)


OPS.update({name: judged(call) for name, call in {
    "cat": lambda tensors, dim=0: torch.cat(tensors, dim),
    "stack": lambda tensors, dim=0: torch.stack(tensors, dim),
    "meshgrid": lambda tensors, indexing="ij": torch.meshgrid(tensors, indexing=indexing),
    "repeat": lambda x, repeats: x.repeat(repeats),
    "repeat_interleave": lambda x, repeats, dim=None, size=None: torch.repeat_interleave(x, repeats, dim,
                                                                                         output_size=size),
    "repeat_interleave_by_number": lambda x, repeats, dim: torch.repeat_interleave(x, repeats, dim),
    "flip": torch.flip,
    "roll": lambda x, shifts, dims=(): torch.roll(x, shifts, dims),
    "constant_pad_nd": lambda x, padding, value=Num(0): torch.constant_pad_nd(x, padding, value.value),
    "pad": torch_pad,
    "tril": lambda x, diagonal=0: x.tril(diagonal),
    "triu": lambda x, diagonal=0: x.triu(diagonal),
    "tril_": lambda x, diagonal=0: x.tril_(diagonal),
    "triu_": lambda x, diagonal=0: x.triu_(diagonal),
}.items()})


def sizes_of(rng):
    if rng.random() < 0.06:
        return rng.choice(([40, 70], [300], [6, 5, 33], [3, 130], [17, 4, 3, 2]))
    return random_sizes(rng, max_rank=4, max_numel=120)


def joined(name):
    def make(program, rng):
        sizes = sizes_of(rng)
        dim = random_axis(rng, len(sizes) + (name == "stack"), bad=rng.random() < 0.03)
        count = rng.choice((1, 2, 2, 3, 3, 4, 9, 12))
        dtypes = [rng.choice(list(DTYPES))]
        if rng.random() < 0.25:
            dtypes += rng.choices(list(DTYPES), k=2)
        tensors = []
        for _ in range(count):
            own = list(sizes)
            if name == "cat" and own and -len(own) <= dim < len(own):
                own[dim] = rng.choice((0, 1, 2, 3, own[dim]))
            if rng.random() < 0.015:
                own = rng.choice((own + [1], [size + 1 for size in own], own[1:]))
            if name == "cat" and rng.random() < 0.03:
                own = [0]
            tensors.append(random_tensor(program, rng, rng.choice(dtypes), sizes=own)[1])
        shapes = [list(program.value(ref).shape) for ref in tensors]
        if name == "cat" and (all(shape == [0] for shape in shapes) and dim not in (0, -1)):
            raise NoAnswer
        if name == "cat" and shapes.count([0]) and not -len(sizes) <= dim < len(sizes):
            raise NoAnswer
        expect_row_major(program, program.do(name, tensors, dim))

    return make


def meshgrid(program, rng):
    dtype = rng.choice(list(DTYPES))
    tensors = []
    for _ in range(rng.randint(1, 4)):
        sizes = [] if rng.random() < 0.1 else [rng.randint(0 if rng.random() < 0.1 else 1, 4)]
        if rng.random() < 0.02:
            sizes = [2, 2]
        own = rng.choice(list(DTYPES)) if rng.random() < 0.02 else dtype
        tensors.append(random_tensor(program, rng, own, sizes=sizes)[1])
    args = [tensors] + ([rng.choice(("ij", "xy", "xy"))] if rng.random() < 0.7 else [])
    if rng.random() < 0.03:
        args = [tensors, "ji"]
    result = program.do("meshgrid", *args)
    if program.error is None:
        grid = program.value(result)
        program.expect(result, f"count {len(grid)}")
        for i, piece in enumerate(grid):
            program.expect_tensor(f"{result}.{i}", tensor=piece, visible_strides=True)


def repeat(program, rng):
    sizes = random_sizes(rng, max_rank=3, max_numel=60)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    repeats = [rng.choice((0, 1, 1, 2, 2, 3)) for _ in range(len(sizes) + rng.choice((0, 0, 1, 2)))]
    if rng.random() < 0.05 and repeats:
        repeats[rng.randrange(len(repeats))] = -1
        if torch.Size(sizes).numel() == 0 or 0 in repeats:
            raise NoAnswer
    if rng.random() < 0.05:
        repeats = repeats[:len(sizes) - 1] if sizes else repeats
    expect_row_major(program, program.do("repeat", x, repeats))


def repeat_interleave(program, rng):
    sizes = random_sizes(rng, max_rank=3, max_numel=60)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    dim = None if not sizes or rng.random() < 0.3 else random_axis(rng, len(sizes), bad=rng.random() < 0.04)
    if rng.random() < 0.4:
        in_range = dim is None or -len(sizes) <= dim < len(sizes)
        repeats = rng.choice((0, 1, 2, 3, 5)) if rng.random() > 0.05 or not in_range else -2
        expect_row_major(program, program.do("repeat_interleave_by_number", x, repeats, dim))
        return
    in_range = dim is None or -len(sizes) <= dim < len(sizes)
    slices = torch.Size(sizes).numel() if dim is None else sizes[dim] if in_range else 2
    count = rng.choice(([slices], [slices], [slices], [1], [], [slices + 1]))
    if rng.random() < 0.04:
        count = [1, slices]
    dtype = rng.choice(("i64", "i64", "i32"))
    words = rng.choice(([0, 1, 2], [1, 2, 3], [2], [0])) + ([-1] if rng.random() < 0.04 else [])
    if rng.random() < 0.04 and in_range:
        dtype, words = rng.choice(("f32", "f64")), [0]
    repeats = operand(program, rng, dtype, count, words)[1]
    args = [x, repeats, dim] if dim is not None or rng.random() < 0.3 else [x, repeats]
    if rng.random() < 0.15:
        given = program.value(repeats)
        total = int(given.sum()) * (slices if given.numel() == 1 else 1)
        args = [x, repeats, dim, total if rng.random() < 0.8 or slices == 0 else total + 1]
    expect_row_major(program, program.do("repeat_interleave", *args))


def flip(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes, layouts=("dense", "permuted", "gaps"))
    axes = rng.sample(range(len(sizes)), rng.randint(0, len(sizes)))
    axes = [axis - len(sizes) if rng.random() < 0.3 else axis for axis in axes]
    if rng.random() < 0.04:
        axes.append(random_axis(rng, len(sizes), bad=rng.random() < 0.5))
    result = program.do("flip", x, axes)
    if program.error is None:
        program.expect_tensor(result, visible_strides=True)


def flip_any_layout(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    result = program.do("flip", x, rng.sample(range(len(sizes)), rng.randint(0, len(sizes))))
    program.expect_tensor(program.do("contiguous", result), visible_strides=True,
                          tensor=program.value(result).contiguous())


def roll(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    if not sizes or rng.random() < 0.25:
        expect_row_major(program, program.do("roll", x, [rng.randint(-9, 9)]))
        return
    axes = [random_axis(rng, len(sizes)) for _ in range(rng.randint(1, len(sizes) + 1))]
    shifts = [rng.randint(-9, 9) for _ in axes]
    if torch.Size(sizes).numel() > 0:
        if rng.random() < 0.04:
            axes[0] = random_axis(rng, len(sizes), bad=True)
        if rng.random() < 0.04:
            shifts = rng.choice((shifts + [1], []))
    expect_row_major(program, program.do("roll", x, shifts, axes))


def padding_of(rng, axes, low, high):
    return [rng.randint(low, high) if rng.random() < 0.8 else 0 for _ in range(2 * axes)]


def constant_pad(program, rng):
    sizes = sizes_of(rng)
    dtype = rng.choice(list(DTYPES))
    _, x = random_tensor(program, rng, dtype, sizes=sizes)
    padding = padding_of(rng, rng.randint(0, len(sizes)), -2 if rng.random() < 0.5 else 0, 3)
    if rng.random() < 0.04:
        padding = padding + rng.choice(([1], [1, 1] * (len(sizes) + 1 - len(padding) // 2)))
    value = rng.choice((None, 0, 1, 3, 7, 2.0, 0.5, 5))
    if value is not None and dtype in ("bool",) and not isinstance(value, int):
        value = 1
    if rng.random() < 0.5:
        args = [x, padding] + ([] if value is None else [Num(value)])
        expect_row_major(program, program.do("constant_pad_nd", *args))
    else:
        args = [x, padding] + (["constant"] if rng.random() < 0.7 or value is not None else [])
        if value is not None:
            args.append(Num(value))
        expect_row_major(program, program.do("pad", *args))


def repeating_pad(program, rng):
    mode = rng.choice(("reflect", "replicate", "circular"))
    axes = rng.randint(1, 3)
    rank = axes + rng.choice((1, 2))
    if rng.random() < 0.05:
        rank = rng.choice((axes, axes + 3))
    sizes = [rng.choice((1, 2, 3, 4, 5)) for _ in range(rank)]
    if rng.random() < 0.05:
        sizes[rng.randrange(rank)] = 0
    dtype = rng.choice(list(DTYPES))
    if dtype == "bool" and mode != "circular":
        raise NoAnswer
    _, x = random_tensor(program, rng, dtype, sizes=sizes)
    padding = padding_of(rng, axes, -1 if rng.random() < 0.4 else 0, 3 if rng.random() < 0.5 else 2)
    if rng.random() < 0.03:
        padding = rng.choice((padding[:-1], padding + [0, 0]))
    if 0 in sizes:
        whole = torch.Size(sizes)
        padded = whole[-axes:].numel()
        # torch asks for channels; without elements in the other axes there is nothing to pad.
        if padded > 0:
            raise NoAnswer
    if mode == "circular":
        for i in range(min(axes, len(padding) // 2)):
            before, after = padding[2 * i:2 * i + 2]
            size = sizes[-1 - i] if i < rank else 1
            kept = size + min(before, 0) + min(after, 0)
            if kept < size and max(before, after) > kept or kept < 0:
                raise NoAnswer
    args = [x, padding, mode if rng.random() > 0.02 else "mirror"]
    if rng.random() < 0.03:
        args.append(Num(1.0))
    expect_row_major(program, program.do("pad", *args))


def triangle(program, rng):
    name = rng.choice(("tril", "triu"))
    sizes = sizes_of(rng)
    if rng.random() < 0.5:
        sizes = [rng.randint(0, 8), rng.randint(0, 8)]
    dtype = rng.choice(list(DTYPES))
    diagonal = rng.choice((0, 0, 1, -1, 2, -2, 5, -7, 100, -100))
    args = [diagonal] if diagonal or rng.random() < 0.5 else []
    if rng.random() < 0.6:
        _, x = random_tensor(program, rng, dtype, sizes=sizes)
        expect_row_major(program, program.do(name, x, *args))
        return
    memory, x = random_tensor(program, rng, dtype, sizes=sizes, layouts=NON_OVERLAPPING)
    expect_written(program, memory, program.do(name + "_", x, *args), x)


BUILDERS = (joined("cat"), joined("cat"), joined("stack"), meshgrid, repeat, repeat_interleave, repeat_interleave, flip,
          flip_any_layout, roll, constant_pad, constant_pad, repeating_pad, repeating_pad, triangle, triangle)


def numbered_case(program, rng, i):
    BUILDERS[i % len(BUILDERS)](program, rng)
