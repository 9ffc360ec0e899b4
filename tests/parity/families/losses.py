"""Losses: include/pellucid/ops/losses.h.

Of f16 and bf16 torch is asked in f32 and its answer rounded once, which is what Pellucid promises. Not drawn: class
indices that are not i64, which torch refuses; integers, for which torch has a loss now and then; losses whose sizes
broadcast beyond the input's, for which torch warns."""
import warnings

import torch

from families.pointwise import operand
from families.reductions import words_of
from families.sorting import expect
from program import BITS_OF, DTYPES, FLOATING, NoAnswer, Num, OPS

F = torch.nn.functional
warnings.filterwarnings("ignore", category=UserWarning, message="(?s).*(batchmean|target size)")
HALVES = (torch.float16, torch.bfloat16)
REDUCTIONS = ("none", "mean", "mean", "sum")


def rounded_once(call):
    def run(*arguments):
        dtypes = [a.dtype for a in arguments if isinstance(a, torch.Tensor) and a.is_floating_point()]
        if not any(dtype in HALVES for dtype in dtypes):
            return call(*arguments)
        wide = [a.float() if isinstance(a, torch.Tensor) and a.dtype in HALVES else a for a in arguments]
        return call(*wide).to(dtypes[0])
    return run


def own_dtype(call):
    """The result has the dtype of the first argument, whatever the others have."""
    def run(x, *arguments):
        if x.dtype not in HALVES:
            return call(x, *arguments)
        wide = [a.float() if isinstance(a, torch.Tensor) and a.dtype in HALVES else a for a in arguments]
        return call(x.float(), *wide).to(x.dtype)
    return run


OPS["cross_entropy"] = own_dtype(lambda x, t, w, reduction, ignore, smoothing: F.cross_entropy(
    x, t, w, reduction=reduction, ignore_index=ignore, label_smoothing=smoothing.value))
OPS["nll_loss"] = own_dtype(lambda x, t, w, reduction, ignore: F.nll_loss(x, t, w, reduction=reduction,
                                                                         ignore_index=ignore))
OPS["mse_loss"] = rounded_once(lambda x, t, reduction: F.mse_loss(x, t, reduction=reduction))
OPS["l1_loss"] = rounded_once(lambda x, t, reduction: F.l1_loss(x, t, reduction=reduction))
OPS["huber_loss"] = rounded_once(lambda x, t, reduction, delta: F.huber_loss(x, t, reduction=reduction,
                                                                            delta=delta.value))
OPS["smooth_l1_loss"] = rounded_once(lambda x, t, reduction, beta: F.smooth_l1_loss(x, t, reduction=reduction,
                                                                                   beta=beta.value))
OPS["binary_cross_entropy_with_logits"] = rounded_once(
    lambda x, t, w, p, reduction: F.binary_cross_entropy_with_logits(x, t, w, reduction=reduction, pos_weight=p))
OPS["kl_div"] = rounded_once(lambda x, t, reduction, log_target: F.kl_div(x, t, reduction=reduction,
                                                                         log_target=log_target.value))
OPS["cosine_similarity"] = rounded_once(lambda a, b, dim, eps: F.cosine_similarity(a, b, dim, eps.value))
OPS["cosine_embedding_loss"] = lambda a, b, t, margin, reduction: F.cosine_embedding_loss(
    a, b, t, margin=margin.value, reduction=reduction)

ELEMENTWISE = ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div")
NAMES = ("cross_entropy", "cross_entropy", "cross_entropy", "nll_loss", "binary_cross_entropy_with_logits",
         "cosine_similarity", "cosine_embedding_loss", *ELEMENTWISE)
VALUES = [*range(-4, 5), 0.5, -1.5, 2.25]
CHANCES = [0, 0.125, 0.25, 0.5, 0.75, 1]


def tensor(program, rng, dtype, sizes, values, **options):
    return operand(program, rng, dtype, sizes, words_of(rng, dtype, values), **options)[1]


def class_case(program, rng, name, dtype, reduction):
    classes = rng.choice((1, 2, 3, 5, 9, 40))
    lead = rng.choice(([], [1], [3], [4], [0], [2]))
    rest = rng.choice(([], [], [2], [3, 2])) if lead else []
    sizes = lead + [classes] + rest
    # Close to each other: of a loss near 0, log(1 + a little), few digits are any implementation's own.
    shift = rng.choice((0, 0, 96, -32))
    x = tensor(program, rng, dtype, sizes, [shift + value for value in (-0.5, 0, 0.25, 0.5, 1)])
    weight = tensor(program, rng, dtype, [classes + (rng.random() < 0.03)], [0.25, 1, 2, 0.5]) \
        if rng.random() < 0.4 else None
    smoothing = Num(rng.choice((0.0, 0.0, 0.1, 0.5, 1.0))) if rng.random() > 0.03 else Num(1.5)
    if name == "cross_entropy" and rng.random() < 0.25:
        target = tensor(program, rng, dtype, sizes, CHANCES)
        return program.do(name, x, target, weight, reduction, -100, smoothing)
    ignore = rng.choice((-100, -100, 0, classes - 1, -1))
    indices = [*range(classes), ignore] + ([classes] if rng.random() < 0.04 else [])
    target_sizes = lead + rest
    if rng.random() < 0.04:
        target_sizes = target_sizes + [2]
    target = tensor(program, rng, "i64", target_sizes, indices)
    arguments = [x, target, weight, reduction, ignore]
    return program.do(name, *arguments, *([smoothing] if name == "cross_entropy" else []))


def sizes_of(rng):
    return rng.choice(([], [1], [7], [3, 5], [2, 3, 4], [0], [2, 0], [33]))


def elementwise_case(program, rng, name, dtype, reduction):
    sizes = sizes_of(rng)
    is_kl = name == "kl_div"  # of logarithms so low that no terms cancel
    x = tensor(program, rng, dtype, sizes, [-8, -6.5, -5, -4] if is_kl else VALUES)
    target = tensor(program, rng, dtype, sizes, CHANCES if is_kl else VALUES)
    if name in ("huber_loss", "smooth_l1_loss"):
        number = Num(rng.choice((1.0, 0.5, 2.0, 3.0))) if rng.random() > 0.05 else Num(-1.0)
        return program.do(name, x, target, reduction, number)
    if name == "kl_div":
        reduction = "batchmean" if sizes and rng.random() < 0.2 else reduction
        return program.do(name, x, target, reduction, Num(rng.random() < 0.5))
    return program.do(name, x, target, reduction)


def numbered_case(program, rng, number):
    name = NAMES[number % len(NAMES)]
    dtype = rng.choice(FLOATING)
    reduction = rng.choice(REDUCTIONS) if rng.random() > 0.03 else "most"
    if name in ("cross_entropy", "nll_loss"):
        result = class_case(program, rng, name, dtype, reduction)
    elif name == "binary_cross_entropy_with_logits":
        sizes = sizes_of(rng)
        x = tensor(program, rng, dtype, sizes, VALUES)
        target = tensor(program, rng, dtype, sizes if rng.random() > 0.04 else sizes + [2], CHANCES)
        weight, positive = (tensor(program, rng, dtype, rng.choice((sizes, sizes[-1:])), [0.5, 1, 2])
                            if rng.random() < 0.4 else None for _ in range(2))
        result = program.do(name, x, target, weight, positive, reduction)
    elif name == "cosine_similarity":
        sizes = rng.choice(([5], [3, 5], [2, 4, 3]))
        a, b = (tensor(program, rng, dtype, sizes, [1, 2, 3, 0.5]) for _ in range(2))
        result = program.do(name, a, b, rng.randrange(-len(sizes), len(sizes)), Num(1e-8))
    elif name == "cosine_embedding_loss":
        if dtype in ("f16", "bf16"):
            dtype = "f32"  # torch rounds after each of its ten steps
        lead = rng.choice(([], [4]))
        a, b = (tensor(program, rng, dtype, lead + [6], [1, 2, -1, 0.5]) for _ in range(2))
        target = tensor(program, rng, "i64", lead, [1, -1])
        result = program.do(name, a, b, target, Num(rng.choice((0.0, 0.25))), reduction)
    else:
        result = elementwise_case(program, rng, name, dtype, reduction)
    if program.error is None:
        result = program.do("contiguous", result)
    expect(program, result, "near")
