"""x[...] with integers, slices, None and Ellipsis."""
from families.views import random_bounds
from layouts import random_tensor
from program import Items


def random_items(rng, x, bad):
    items, left = [], list(x.shape)
    ellipsis_at = rng.randint(0, len(left)) if rng.random() < 0.35 else None
    axis = 0
    while axis < len(left):
        if axis == ellipsis_at:
            items.append(Ellipsis)
            ellipsis_at = None
            axis += rng.randint(0, len(left) - axis)  # the axes it stands for
            continue
        roll = rng.random()
        size = left[axis]
        if roll < 0.12:
            items.append(None)
            continue
        if roll < 0.45 and size > 0:
            items.append(rng.randint(-size, size - 1))
        elif roll < 0.93:
            step = rng.choice((None, None, 1, 2, 3))
            items.append(slice(*random_bounds(rng, size), step))
        else:
            break  # the axes after this one are left as they are
        axis += 1
    if Ellipsis in items and axis < len(left):
        items += [slice(None)] * (len(left) - axis)
    if rng.random() < 0.1:
        items.insert(rng.randint(0, len(items)), None)
    if not items and rng.random() < 0.7:
        items = rng.choice(([Ellipsis], [None], [None, Ellipsis], [Ellipsis, None, None]))
    if bad:
        spoil(rng, items, x)
    return items


def spoil(rng, items, x):
    # Two ellipses are left out: torch takes some of them, NumPy and Pellucid none.
    wrong = rng.choice(("out", "out", "many", "zero step", "negative step"))
    at = rng.randint(0, len(items))
    if wrong == "out":
        ints = [i for i, item in enumerate(items) if isinstance(item, int)]
        far = max(x.shape, default=0) + rng.randint(0, 3)
        index = rng.choice((far, -far - 1))
        if ints:
            items[rng.choice(ints)] = index
        else:
            items.insert(0, index)
    elif wrong == "many":
        while sum(item is not None and item is not Ellipsis for item in items) <= x.dim():
            items.append(rng.choice((0, slice(None))))
    else:
        items.insert(at, slice(*random_bounds(rng, 3), 0 if wrong == "zero step" else -rng.randint(1, 2)))


def case(program, rng):
    _, x = random_tensor(program, rng)
    result = program.do("index", x, Items(random_items(rng, program.value(x), bad=rng.random() < 0.22)))
    program.expect_result(result)
