"""Row reductions other than sum, and normalization. Of small whole numbers.

Not drawn: softmax of integers and argmax of bool, for which torch has no kernels; logsumexp over no axes, which torch
refuses by accident."""
import torch

from families.pointwise import operand, random_sizes
from families.reductions import words_of
from families.sorting import expect
from layouts import random_axis
from program import DTYPES, DTYPE_NAMES, FLOATING, Num, OPS


def axes_of(rng, sizes):
    axes = rng.sample(range(len(sizes)), rng.randint(0, len(sizes)))
    axes = [axis - len(sizes) if rng.random() < 0.3 else axis for axis in axes]
    if rng.random() < 0.04:
        axes.append(random_axis(rng, len(sizes), bad=True))
    return axes


def axis_of(rng, sizes):
    return random_axis(rng, len(sizes), bad=rng.random() < 0.04)


# With a list of axes; an empty list means all of them.
def torch_any_all(f):
    def call(x, axes, keep):
        axes = list(axes) or list(range(x.dim()))
        return f(x, dim=axes, keepdim=keep.value)
    return call


def as_dtype(name):
    return {} if name is None else {"dtype": DTYPES[name]}


OPS["mean"] = lambda x, axes, keep: torch.mean(x, dim=list(axes), keepdim=keep.value)
OPS["amax"] = lambda x, axes, keep: torch.amax(x, dim=list(axes), keepdim=keep.value)
OPS["amin"] = lambda x, axes, keep: torch.amin(x, dim=list(axes), keepdim=keep.value)
OPS["any"] = torch_any_all(torch.any)
OPS["all"] = torch_any_all(torch.all)
OPS["logsumexp"] = lambda x, axes, keep: torch.logsumexp(x, dim=list(axes), keepdim=keep.value)
OPS["count_nonzero"] = lambda x, axes: torch.count_nonzero(x, dim=list(axes) or None)
OPS["var"] = lambda x, axes, correction, keep: torch.var(x, dim=list(axes), correction=correction.value,
                                                        keepdim=keep.value)
OPS["std"] = lambda x, axes, correction, keep: torch.std(x, dim=list(axes), correction=correction.value,
                                                        keepdim=keep.value)
OPS["var_mean"] = lambda x, axes, correction, keep: torch.var_mean(x, dim=list(axes), correction=correction.value,
                                                                  keepdim=keep.value)
OPS["prod"] = lambda x, axis, keep, dtype=None: torch.prod(x, axis, keepdim=keep.value, **as_dtype(dtype))
OPS["argmax"] = lambda x, axis, keep: torch.argmax(x, axis, keepdim=keep.value)
OPS["argmin"] = lambda x, axis, keep: torch.argmin(x, axis, keepdim=keep.value)
OPS["max"] = lambda x, axis, keep: torch.max(x, axis, keepdim=keep.value)
OPS["min"] = lambda x, axis, keep: torch.min(x, axis, keepdim=keep.value)
OPS["aminmax"] = lambda x, axis, keep: torch.aminmax(x, dim=axis, keepdim=keep.value)
OPS["norm"] = lambda x, p, axes, keep: torch.linalg.vector_norm(x, p.value, dim=list(axes) or None, keepdim=keep.value)
OPS["softmax"] = lambda x, axis: torch.softmax(x, axis)
OPS["log_softmax"] = lambda x, axis: torch.log_softmax(x, axis)
OPS["layer_norm"] = lambda x, shape: torch.nn.functional.layer_norm(x, list(shape))
OPS["rms_norm"] = lambda x, shape: torch.nn.functional.rms_norm(x, list(shape))

NEAR = {"mean", "prod", "var", "std", "var_mean", "norm", "logsumexp", "softmax", "log_softmax", "layer_norm", "rms_norm"}
NAMES = ["mean", "amax", "amin", "any", "all", "logsumexp", "count_nonzero", "var", "std", "var_mean", "prod", "argmax",
         "argmin", "max", "min", "aminmax", "norm", "softmax", "log_softmax", "layer_norm", "rms_norm"]


def arguments(rng, name, sizes):
    keep = Num(rng.random() < 0.5)
    if name in ("softmax", "log_softmax"):
        return [axis_of(rng, sizes)]
    if name in ("layer_norm", "rms_norm"):
        count = rng.randint(1, max(1, len(sizes)))
        shape = sizes[len(sizes) - count:] if sizes else [1]
        return [[size + 1 for size in shape] if rng.random() < 0.05 else shape]
    if name == "prod" and rng.random() < 0.3:
        return [axis_of(rng, sizes), keep, rng.choice(list(DTYPES))]
    if name in ("prod", "argmax", "argmin", "max", "min", "aminmax"):
        return [axis_of(rng, sizes), keep]
    if name == "count_nonzero":
        return [axes_of(rng, sizes)]
    if name in ("var", "std", "var_mean"):
        return [axes_of(rng, sizes), Num(rng.choice((0, 1, 1, 2, 0.5))), keep]
    if name == "norm":
        return [Num(rng.choice((0, 1, 2, 2, 3, 0.5, float("inf"), -float("inf")))), axes_of(rng, sizes), keep]
    axes = axes_of(rng, sizes)
    return [axes or [0] if name == "logsumexp" else axes, keep]


def numbered_case(program, rng, number):
    name = NAMES[number % len(NAMES)]
    dtype = rng.choice(list(DTYPES) if rng.random() < 0.5 else list(FLOATING))
    if name in ("softmax", "log_softmax") or (dtype == "bool" and name in ("argmax", "argmin")):
        dtype = rng.choice(FLOATING)
    if dtype == "bool":
        values = [0, 1]
    elif dtype in FLOATING:
        values = [-1, 1, 1, 1.5, 0.75] if name == "prod" else [*range(-4, 5), 0.5, -1.5]
        if name == "var_mean":  # torch's running mean is rough where numbers cancel
            values = [*range(1, 9), 0.5]
        if name not in NEAR:
            values += rng.choice(([], [], [float("inf")], [float("nan")]))
    else:
        values = [*range(0, 6)]
    sizes = random_sizes(rng)
    given = arguments(rng, name, sizes)
    if "u8" in given:  # what becomes of a negative number is not defined in torch
        values = [abs(value) for value in values]
    _, x = operand(program, rng, dtype, sizes, words_of(rng, dtype, values))
    result = program.do(name, x, *given)
    expect(program, result, "near" if name in NEAR else "tensor")
