"""Random sizes, and tensors of them in every layout: dense in any axis order, with gaps, expanded, overlapping."""
import torch


def random_sizes(rng, max_rank=5, max_numel=600):
    rank = rng.randint(1, max_rank) if rng.random() > 0.08 else 0
    if max_rank >= 5 and rng.random() < 0.06:
        rank = rng.randint(7, 8)
    while True:
        sizes = [rng.choices((0, 1, 2, 3, 4, 5, 7), (4, 20, 30, 20, 14, 8, 4))[0] for _ in range(rank)]
        if rank > 5:
            sizes = [rng.choice((1, 1, 2, 2, 3)) for _ in range(rank)]
        if torch.Size(sizes).numel() <= max_numel:
            return sizes


def dense_strides(sizes, order, gaps=None):
    """`order` lists the axes from the fastest; gaps[i] multiplies a stride and leaves elements unused."""
    strides, running = [0] * len(sizes), 1
    for axis in order:
        strides[axis] = running * (gaps[axis] if gaps else 1)
        running = strides[axis] * max(sizes[axis], 1)
    return strides


def random_strides(rng, sizes, layouts=("dense", "permuted", "gaps", "expanded", "windows")):
    layout = rng.choices(layouts, [{"dense": 30, "permuted": 25, "gaps": 25, "expanded": 12, "windows": 8}[name]
                                   for name in layouts])[0]
    order = list(reversed(range(len(sizes))))
    if layout == "permuted" or (layout != "dense" and rng.random() < 0.5):
        rng.shuffle(order)
    gaps = [rng.choice((1, 1, 2, 3)) for _ in sizes] if layout == "gaps" else None
    strides = dense_strides(sizes, order, gaps)
    for axis, size in enumerate(sizes):
        if layout == "expanded" and rng.random() < 0.5:
            strides[axis] = 0
        if layout == "windows" and strides[axis] > 1:
            strides[axis] = rng.randint(1, strides[axis])
        if size == 1 and rng.random() < 0.1:  # the stride of a size-1 axis has no effect and must not disturb
            strides[axis] = rng.choice((0, 1, 5, 17))
    return strides


def span(sizes, strides):
    """Elements between the first and the last, both included."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))


def random_tensor(program, rng, dtype="i64", sizes=None, **limits):
    """Two steps: the memory, and a tensor of some layout in it. Returns both registers."""
    layouts = {"layouts": limits.pop("layouts")} if "layouts" in limits else {}
    sizes = random_sizes(rng, **limits) if sizes is None else sizes
    strides = random_strides(rng, sizes, **layouts)
    offset = rng.choice((0, 0, 0, 1, 2, 5))
    memory = program.do("in", dtype, offset + span(sizes, strides) + rng.choice((0, 0, 0, 1, 3)))
    return memory, program.do("as_strided", memory, sizes, strides, offset)


def random_axis(rng, rank, bad=False):
    reach = max(rank, 1)
    if bad:
        return rng.choice((reach, reach + rng.randint(0, 3), -reach - 1, -reach - 1 - rng.randint(0, 3)))
    return rng.randint(-reach, reach - 1)
