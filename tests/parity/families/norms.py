"""Norms over channels: include/pellucid/ops/normalization.h.

torch is asked in f64 and its answer rounded once: in f32 it is 1000 units of the last place off where a channel is
nearly one number. Layouts are dense, in any order of axes; results have the
input's, which torch keeps only for channels that are innermost, so strides are not compared."""
import torch

from families.losses import tensor
from families.reductions import words_of
from families.pointwise import operand
from families.sorting import expect
from program import FLOATING, Num, OPS

F = torch.nn.functional


def rounded_once(call):
    def run(x, *arguments):
        wide = [a.double() if isinstance(a, torch.Tensor) else a for a in arguments]
        result = call(x.double(), *wide).to(x.dtype)
        statistics = slice(2, 4) if len(arguments) == 7 else slice(0)
        for given, written in zip(arguments[statistics], wide[statistics]):
            if isinstance(given, torch.Tensor):
                given.copy_(written)
        return result
    return run


OPS["batch_norm"] = rounded_once(lambda x, w, b, mean, var, training, momentum, eps: torch.batch_norm(
    x, w, b, mean, var, training.value, momentum.value, eps.value, False))
OPS["group_norm"] = rounded_once(lambda x, groups, w, b, eps: F.group_norm(x, groups, w, b, eps.value))
OPS["instance_norm"] = rounded_once(lambda x, w, b, mean, var, own, momentum, eps: torch.instance_norm(
    x, w, b, mean, var, own.value, momentum.value, eps.value, False))
NAMES = ("batch_norm", "batch_norm", "group_norm", "instance_norm", "native_group_norm_backward")
VALUES = [*range(1, 9), 0.5]


def group_norm_backward(*arguments):
    wide = [a.double().contiguous() if isinstance(a, torch.Tensor) else a for a in arguments]
    return [part.to(arguments[0].dtype) for part in torch.ops.aten.native_group_norm_backward(*wide, [True] * 3)]


OPS["native_group_norm_backward"] = group_norm_backward


def backward_case(program, rng):
    dtype = rng.choice(("f32", "f64"))
    samples, groups, each, size = rng.choice((1, 3)), rng.choice((1, 2)), rng.choice((1, 3)), rng.choice((4, 6, 35))
    sizes = [samples, groups * each, size] if rng.random() < 0.5 else [samples, groups * each, 1, size]
    grad, x = (tensor(program, rng, dtype, sizes, VALUES, layouts=("dense", "permuted")) for _ in range(2))
    mean = tensor(program, rng, dtype, [samples, groups], [-6, -4])
    rstd = tensor(program, rng, dtype, [samples, groups], [0.5, 0.25])
    weight = tensor(program, rng, dtype, [groups * each], [-1, -2])
    result = program.do("native_group_norm_backward", grad, x, mean, rstd, weight, samples, groups * each, size, groups)
    expect(program, result, "near")


def numbered_case(program, rng, number):
    name = NAMES[number % len(NAMES)]
    if name == "native_group_norm_backward":
        return backward_case(program, rng)
    dtype = rng.choice(FLOATING)
    wide = "f64" if dtype == "f64" else "f32"
    channels = rng.choice((1, 2, 3, 4, 6, 17))
    rest = rng.choice(([], [5], [3, 4], [9, 2], [2, 3, 2]))
    if name != "batch_norm" and not rest:  # of a single number torch takes its own mean only roughly away
        rest = [7]
    sizes = [rng.choice((2, 3, 4)), channels, *rest]
    x = tensor(program, rng, dtype, sizes, VALUES, layouts=("dense", "permuted"))
    many = channels + (rng.random() < 0.03)
    weight, bias = (tensor(program, rng, rng.choice((dtype, wide)), [many], [1, 2, 0.5, -1])
                    if rng.random() < 0.6 else None for _ in range(2))
    eps = Num(rng.choice((1e-5, 1e-3)))
    if name == "group_norm":
        groups = rng.choice([n for n in range(1, channels + 1) if channels % n == 0] if rng.random() > 0.05 else [5])
        expect_values(program, program.do(name, x, groups, weight, bias, eps))
        return
    given = rng.random() < 0.7
    mean, var = (operand(program, rng, wide, [channels], words_of(rng, wide, [1, 2, 3, 0.5]), layouts=("dense",))[0]
                 if given else None for _ in range(2))
    if given and any(program.value(s).numel() != channels for s in (mean, var)):
        mean = var = None
    own = rng.random() < 0.6 or (mean is None and rng.random() < 0.9)
    result = program.do(name, x, weight, bias, mean, var, Num(own), Num(rng.choice((0.1, 0.5, 1.0))), eps)
    if program.error is None and mean is not None:
        program.expect_tensor(mean, "near")
        program.expect_tensor(var, "near")
    expect_values(program, result)


def expect_values(program, result):
    if program.error is None:
        result = program.do("contiguous", result)
    expect(program, result, "near")
