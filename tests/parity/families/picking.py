"""Ops that take indices or masks: what they pick, and where they place.

Where Pellucid differs from torch on purpose, no case is drawn:

- Results are row-major; torch's index and nonzero permute theirs.
- An index out of range is an IndexError; some of torch's ops raise a RuntimeError, which counts as one here. It is
  noticed where the result has elements; index_select notices it also where it has none.
- An index that is not an integer is an error also where it is empty.
- Of several values for one element the last one stays; in torch's index_put any may.
- A mask without axes is refused as an index. With a mask and a single value torch's index_put refuses u8, and takes
  a value of another dtype.
- take_along_dim refuses what is out of range; torch takes it modulo the size.
"""
import warnings

import torch

from families.pointwise import broadcast, operand
from layouts import random_axis, random_sizes, random_tensor
from program import DTYPES, FLOATING, NoAnswer, Num, OPS, Ref

warnings.filterwarnings("ignore", category=UserWarning, message="(?s).*(torch.uint8|reduce argument)")
NON_OVERLAPPING = ("dense", "permuted", "gaps")
OUT_OF_RANGE = ("out of bounds", "out of range", "out of DATA bounds")
NOT_OF_THE_INDEX = ("tensors used as indices must be", "Expected dtype", "should be Long")


def judged(call):
    """The call, with torch's kinds of error brought to one rule: IndexError for an index or an axis out of range."""

    def judge(*arguments):
        try:
            return call(*arguments)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            text = str(error)
            if any(part in text for part in OUT_OF_RANGE):
                raise IndexError(text) from error
            if any(part in text for part in NOT_OF_THE_INDEX):
                raise ValueError(text) from error
            raise

    return judge


def with_gaps(x, indices, dims):
    """torch's list, in which None stands for an axis that is not indexed."""
    if not dims:
        return list(indices)
    placed, axis = [], 0
    for index, dim in zip(indices, dims):
        dim = dim + x.dim() if dim < 0 else dim
        placed += [None] * (dim - axis) + [index]
        axis = dim + (index.dim() if index.dtype in (torch.bool, torch.uint8) else 1)
    return placed


def reduce_option(reduce):
    return {} if reduce is None else {"reduce": reduce}


def source_of(src):
    return src.value if isinstance(src, Num) else src


OPS.update({name: judged(call) for name, call in {
    "index_select": torch.index_select,
    "gather": torch.gather,
    "take_along_dim": lambda x, indices, dim=None: torch.take_along_dim(x, indices, dim),
    "embedding": torch.embedding,
    "index_by": lambda x, indices, dims=(): torch.ops.aten.index(x, with_gaps(x, indices, dims)),
    "index_put": lambda x, indices, values, accumulate=Num(False), dims=(): torch.ops.aten.index_put(
        x, with_gaps(x, indices, dims), values, accumulate.value),
    "index_put_": lambda x, indices, values, accumulate=Num(False), dims=(): torch.ops.aten.index_put_(
        x, with_gaps(x, indices, dims), values, accumulate.value),
    "masked_select": torch.masked_select,
    "nonzero": torch.nonzero,
    "scatter": lambda x, dim, index, src, reduce=None: torch.scatter(x, dim, index, source_of(src),
                                                                     **reduce_option(reduce)),
    "scatter_": lambda x, dim, index, src, reduce=None: x.scatter_(dim, index, source_of(src),
                                                                   **reduce_option(reduce)),
    "scatter_add": torch.scatter_add,
    "scatter_add_": lambda x, dim, index, src: x.scatter_add_(dim, index, src),
    "one_hot": torch.nn.functional.one_hot,
}.items()})


def expect_row_major(program, ref):
    if program.error is None:
        program.expect_tensor(ref, tensor=program.value(ref).contiguous(), visible_strides=True)


def expect_written(program, memory, ref, target):
    if program.error is None:
        program.expect_tensor(memory)
        program.expect(ref, f"same {target}")


def sizes_of(rng):
    """Mostly few axes; sometimes rows long enough for every path of a kernel."""
    if rng.random() < 0.06:
        return rng.choice(([40, 70], [300], [6, 5, 33], [3, 130], [17, 4, 3, 2]))
    return random_sizes(rng, max_rank=4, max_numel=120)


def index_words(rng, size, negative, bad):
    words = list(range(-size if negative else 0, size)) or [0]
    if bad:
        words = words + [rng.choice((size, size + 3, -size - 1, 1 << 40, -(1 << 40)) if negative
                                    else (size, size + 2, -1, -5, 1 << 40))]
    return words


def index_tensor(program, rng, sizes, size, negative=False, bad=False, dtypes=("i64", "i64", "i32")):
    dtype = rng.choice(dtypes)
    words = index_words(rng, size, negative, bad)
    if dtype == "i32":
        words = [word for word in words if abs(word) < 1 << 31]
    return operand(program, rng, dtype, sizes, words)[1]


def wrong_index(program, rng, sizes):
    return operand(program, rng, rng.choice(("i16", "i8", "f32", "f64", "u8", "bool")), sizes, [0])[1]


def dim_size(sizes, dim):
    return sizes[dim] if sizes else 1


def index_select(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    dim = random_axis(rng, len(sizes), bad=rng.random() < 0.04)
    in_range = -max(len(sizes), 1) <= dim < max(len(sizes), 1)
    size = dim_size(sizes, dim) if in_range else 2
    has_elements = torch.Size(sizes).numel() > 0
    index_sizes = rng.choice(([], [rng.randint(1, 6)], [rng.randint(0, 9)], [1]))
    if rng.random() < 0.03:
        index_sizes = [2, 2]
    bad = rng.random() < 0.08 and has_elements
    if (size == 0 or not has_elements) and torch.Size(index_sizes).numel() > 0 and index_sizes != [2, 2]:
        index_sizes = [0]
    index = (wrong_index(program, rng, index_sizes) if rng.random() < 0.04 and index_sizes != [0]
             else index_tensor(program, rng, index_sizes, size, bad=bad))
    expect_row_major(program, program.do("index_select", x, dim, index))


def smaller(rng, sizes, dim, most=7):
    """Sizes of an index for a tensor of these sizes."""
    result = [rng.randint(0 if rng.random() < 0.05 else min(1, size), size) for size in sizes]
    if sizes:
        result[dim] = rng.randint(0 if rng.random() < 0.05 else 1, most)
    if rng.random() < 0.04 and sizes:
        result[rng.randrange(len(sizes))] += 2
    if rng.random() < 0.03:
        result = rng.choice((result + [1], result[:-1]))
    return result


def gather(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    dim = random_axis(rng, len(sizes))
    index_sizes = smaller(rng, sizes, dim, most=rng.choice((3, 7, 90)))
    empty = torch.Size(index_sizes).numel() == 0
    index = (wrong_index(program, rng, index_sizes) if rng.random() < 0.03 and not empty
             else index_tensor(program, rng, index_sizes, dim_size(sizes, dim), bad=rng.random() < 0.06))
    if rng.random() < 0.03:
        dim = random_axis(rng, len(sizes), bad=True)
    expect_row_major(program, program.do("gather", x, dim, index))


def take_along_dim(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    if not sizes or rng.random() < 0.2:
        count = torch.Size(sizes).numel()
        index_sizes = random_sizes(rng, max_rank=2, max_numel=20) if count else [0]
        index = index_tensor(program, rng, index_sizes, count, bad=rng.random() < 0.05, dtypes=("i64",))
        if not all(program.value(ref).is_contiguous() for ref in (x, index)):
            raise NoAnswer  # torch refuses what it cannot see as flat
        expect_row_major(program, program.do("take_along_dim", x, index))
        return
    dim = random_axis(rng, len(sizes), bad=rng.random() < 0.03)
    index_sizes = [1 if rng.random() < 0.3 else size for size in sizes]
    if -len(sizes) <= dim < len(sizes):
        index_sizes[dim] = rng.randint(0, 5) if sizes[dim] else 0
    if rng.random() < 0.04:
        index_sizes = rng.choice((index_sizes[1:], [size + 1 for size in index_sizes]))
    size = sizes[dim] if -len(sizes) <= dim < len(sizes) else 1
    index = index_tensor(program, rng, index_sizes, size, negative=True, dtypes=("i64",) * 20 + ("i32",))
    expect_row_major(program, program.do("take_along_dim", x, index, dim))


def embedding(program, rng):
    rows, columns = rng.choice((1, 2, 5, 40)), rng.choice((0, 1, 3, 8, 33, 70))
    sizes = [rows, columns] if rng.random() > 0.05 else rng.choice(([rows], [2, rows, columns], []))
    _, table = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    index_sizes = random_sizes(rng, max_rank=3, max_numel=24)
    index = (wrong_index(program, rng, index_sizes) if rng.random() < 0.04
             else index_tensor(program, rng, index_sizes, rows, bad=rng.random() < 0.06 and columns > 0))
    expect_row_major(program, program.do("embedding", table, index))


def mask_tensor(program, rng, sizes):
    dtype = rng.choice(("bool", "bool", "u8"))
    words = [0, 1] if dtype == "bool" or rng.random() < 0.5 else [0, 0, 1, 2, 255]
    return operand(program, rng, dtype, sizes, words if rng.random() < 0.9 else [rng.choice(words)])[1]


def draw_indices(program, rng, sizes, bad):
    """Indices for some of the axes; returns them with the axes they begin at. At most one has a fault, since torch
    looks for them in another order."""
    faults = [None] * 40 + (["mask", "sizes", "dtype"] if not bad else [])
    fault = rng.choice(faults)
    sound = fault is None and not bad
    shape = rng.choice(([], [1], [rng.randint(1, 5)], [rng.randint(0, 4)], [2, 3], [rng.randint(1, 3), 1, 2]))
    indices, dims, axis = [], [], 0
    while axis < len(sizes):
        roll = rng.random()
        if roll < 0.35:
            axis += 1
            continue
        remaining = len(sizes) - axis
        if roll < 0.5 and shape != [2, 3]:
            rank = rng.randint(1, min(2, remaining))
            mask_sizes = sizes[axis:axis + rank]
            if fault == "mask":
                mask_sizes, fault = [size + 1 for size in mask_sizes], None
            indices.append(mask_tensor(program, rng, mask_sizes))
            found = int((program.value(indices[-1]) != 0).sum())
            dims.append(axis)
            axis += rank
            shape = [found] if rng.random() < 0.95 else shape
            continue
        if sizes[axis] == 0 and torch.Size(shape).numel() > 0:
            shape = [0]
        own = broadcast(rng, shape) if shape != [0] else [0]
        if fault == "sizes":
            own, fault = [size + 2 for size in own], None
        if fault == "dtype" and torch.Size(own).numel() > 0:
            fault = None
            indices.append(operand(program, rng, rng.choice(("i16", "i8", "f32", "f64")), own, [0])[1])
        else:
            indices.append(index_tensor(program, rng, own, sizes[axis], negative=True, bad=bad))
        dims.append(axis)
        axis += 1
    if not indices:
        raise NoAnswer
    if rng.random() < 0.02 and sound:
        indices.append(index_tensor(program, rng, [], 1))
        dims.append(dims[-1] + 1)
        raise_if_masked(program, indices)
        return indices, list(range(len(indices))) if dims[0] == 0 else dims
    return indices, dims


def raise_if_masked(program, indices):
    if any(program.value(index).dtype in (torch.bool, torch.uint8) for index in indices):
        raise NoAnswer


def dims_text(program, rng, sizes, indices, dims):
    """The axes as an argument: none where they are the first ones, now and then counted from the end."""
    first, expected = True, 0
    for index, dim in zip(indices, dims):
        first = first and dim == expected
        tensor = program.value(index)
        expected = dim + (tensor.dim() if tensor.dtype in (torch.bool, torch.uint8) else 1)
    if first and rng.random() < 0.8:
        return []
    return [dim - len(sizes) if rng.random() < 0.2 and dim < len(sizes) else dim for dim in dims]


def index(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=sizes)
    indices, dims = draw_indices(program, rng, sizes, bad=rng.random() < 0.06)
    if max(dims) >= len(sizes) and len(set(dims)) != len(dims):
        raise NoAnswer
    ref = program.do("index_by", x, indices, dims_text(program, rng, sizes, indices, dims))
    if program.error is None and program.value(ref).numel() > 3000:
        raise NoAnswer
    expect_row_major(program, ref)


def small_words(dtype):
    """Whole numbers, whose sums and products are exact in any order."""
    if dtype == "bool":
        return [0, 1]
    values = [0, 1, 1, 2, 3] + ([] if dtype == "u8" else [-1, -2])
    if dtype not in FLOATING:
        return values
    bits = {"f64": torch.int64, "f32": torch.int32, "f16": torch.int16, "bf16": torch.int16}[dtype]
    tensor = torch.tensor(values, dtype=DTYPES[dtype])
    return [word & ((1 << (8 * tensor.itemsize)) - 1) for word in tensor.view(bits).tolist()]


def index_put(program, rng):
    sizes = sizes_of(rng)
    dtype = rng.choice(list(DTYPES))
    memory, x = random_tensor(program, rng, dtype, sizes=sizes, layouts=NON_OVERLAPPING)
    indices, dims = draw_indices(program, rng, sizes, bad=rng.random() < 0.05)
    tensors = [program.value(ref) for ref in indices]
    try:
        placed = with_gaps(program.value(x), tensors, dims)
        count = torch.ops.aten.index_put(torch.zeros(sizes, dtype=torch.int64), placed, torch.tensor(1), True)
        shape = list(torch.ops.aten.index(program.value(x), placed).shape)
    except (RuntimeError, IndexError):
        count, shape = torch.zeros(1, dtype=torch.int64), [1]  # the call will fail
    if torch.Size(shape).numel() > 2000:
        raise NoAnswer
    accumulate = rng.random() < 0.5
    collides = count.numel() > 0 and count.max() > 1
    value_sizes = broadcast(rng, shape)
    if rng.random() < 0.04:
        value_sizes = rng.choice(([size + 1 for size in shape] or [2], [1, *shape, 2], [2, *shape]))
    if collides and not accumulate:
        value_sizes = []
    other = rng.choice(list(DTYPES)) if rng.random() < 0.03 and shape != [1] else dtype
    _, values = operand(program, rng, other, value_sizes, small_words(other))
    masks = [tensor.dtype for tensor in tensors if tensor.dtype in (torch.bool, torch.uint8)]
    if program.value(values).numel() == 1 and masks and (torch.uint8 in masks or other != dtype):
        raise NoAnswer
    args = [x, indices, values]
    placed = dims_text(program, rng, sizes, indices, dims)
    if accumulate or placed or rng.random() < 0.3:
        args.append(Num(accumulate))
    if placed:
        args.append(placed)
    if rng.random() < 0.4:
        expect_row_major(program, program.do("index_put", *args))
    else:
        expect_written(program, memory, program.do("index_put_", *args), x)


def masked_select(program, rng):
    sizes = sizes_of(rng)
    _, x = random_tensor(program, rng, rng.choice(list(DTYPES)), sizes=broadcast(rng, sizes))
    mask_sizes = broadcast(rng, sizes)
    if rng.random() < 0.04:
        mask_sizes = [size + 1 for size in sizes]
    dtype = "bool" if rng.random() > 0.04 else rng.choice(("u8", "i64", "f32"))
    words = rng.choice(([0, 1], [0, 1], [0, 0, 0, 1], [1], [0]))
    expect_row_major(program, program.do("masked_select", x, operand(program, rng, dtype, mask_sizes, words)[1]))


def nonzero(program, rng):
    dtype = rng.choice(list(DTYPES))
    words = small_words(dtype) + [0] * rng.choice((0, 3, 20))
    if dtype in FLOATING:  # -0, infinity, NaN, the smallest number
        width = 8 * DTYPES[dtype].itemsize
        infinity = {"f64": 0x7ff << 52, "f32": 0xff << 23, "f16": 0x1f << 10, "bf16": 0xff << 7}[dtype]
        words += [1 << (width - 1), 1 << (width - 1), infinity, infinity + 1, 1]
    sizes = [5000] if rng.random() < 0.02 else sizes_of(rng)
    expect_row_major(program, program.do("nonzero", operand(program, rng, dtype, sizes, words)[1]))


def scatter_arguments(program, rng, name):
    sizes = sizes_of(rng)
    dtype = rng.choice(list(DTYPES))
    words = small_words(dtype)
    memory, x = operand(program, rng, dtype, sizes, words, layouts=NON_OVERLAPPING)
    dim = random_axis(rng, len(sizes))
    index_sizes = smaller(rng, sizes, dim, most=rng.choice((2, 5, 40)))
    empty = torch.Size(index_sizes).numel() == 0
    index = (wrong_index(program, rng, index_sizes) if rng.random() < 0.03 and not empty
             else index_tensor(program, rng, index_sizes, dim_size(sizes, dim), bad=rng.random() < 0.05))
    if rng.random() < 0.03:
        dim = random_axis(rng, len(sizes), bad=True)
    if name == "scatter" and rng.random() < 0.3:
        value = rng.choice((0, 1, 3, 7, 2.0, 0.5, True))
        return memory, x, [x, dim, index, Num(value)], dtype
    src_sizes = [size + rng.choice((0, 0, 1, 2)) for size in index_sizes]
    if rng.random() < 0.04 and src_sizes:
        src_sizes[rng.randrange(len(src_sizes))] = 0
    if rng.random() < 0.03:
        src_sizes = rng.choice((src_sizes + [1], src_sizes[1:]))
    other = rng.choice(list(DTYPES)) if rng.random() < 0.03 else dtype
    _, src = operand(program, rng, other, src_sizes, small_words(other))
    return memory, x, [x, dim, index, src], dtype


def placing(name):
    def make(program, rng):
        memory, x, args, dtype = scatter_arguments(program, rng, name)
        if name == "scatter" and rng.random() < 0.4:
            reduce = rng.choice(("add", "multiply"))
            if dtype in ("f16", "bf16", "i8", "u8") and reduce == "multiply" or dtype == "bool":
                raise NoAnswer  # products that the dtype does not hold; torch refuses some of bool
            args.append(reduce if rng.random() > 0.04 else "amax")
        if args[-1] == "amax":
            raise NoAnswer
        in_place = rng.random() < 0.6
        result = program.do(name + "_" if in_place else name, *args)
        if in_place:
            expect_written(program, memory, result, x)
        else:
            expect_row_major(program, result)
        tensors = [program.value(arg) for arg in args if isinstance(arg, Ref)]
        if program.error and len({max(tensor.dim(), 1) for tensor in tensors}) > 1:
            program.error = "other"  # torch asks some axis of src for its size
        axes = max(tensors[0].dim(), 1)
        is_index = tensors[1].dtype in (torch.int64, torch.int32)
        if not -axes <= args[1] < axes and (not is_index or program.error == "other"):
            raise NoAnswer  # two faults

    return make


def one_hot(program, rng):
    sizes = random_sizes(rng, max_rank=3, max_numel=30)
    words = [0, 1, 2, 3] + ([-1] if rng.random() < 0.06 else [])
    dtype = "i64" if rng.random() > 0.05 else rng.choice(("i32", "u8", "f32"))
    x = operand(program, rng, dtype, sizes, words if dtype == "i64" else [0])[1]
    args = [x] if rng.random() < 0.4 else [x, rng.choice((4, 4, 5, 70, 3, 2, 1, 0, -2, -1))]
    expect_row_major(program, program.do("one_hot", *args))


BUILDERS = (index_select, gather, gather, take_along_dim, embedding, index, index, index, index_put, index_put, index_put,
          masked_select, nonzero, placing("scatter"), placing("scatter"), placing("scatter_add"), one_hot)


def numbered_case(program, rng, i):
    BUILDERS[i % len(BUILDERS)](program, rng)
