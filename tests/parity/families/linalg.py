"""Matmuls of small whole numbers: they are exact in any order.

Not drawn: bool, for which torch has no kernels. Not compared: the strides of results, which are row-major here and at
times transposed in torch."""
import torch

from families.pointwise import operand
from families.reductions import words_of
from families.sorting import expect
from program import DTYPES, FLOATING, Num, OPS

OPS.update({
    "mm": torch.mm,
    "bmm": torch.bmm,
    "addmm": lambda c, a, b, beta=Num(1), alpha=Num(1): torch.addmm(c, a, b, beta=beta.value, alpha=alpha.value),
    "baddbmm": lambda c, a, b, beta=Num(1), alpha=Num(1): torch.baddbmm(c, a, b, beta=beta.value, alpha=alpha.value),
    "mv": torch.mv,
    "dot": torch.dot,
    "outer": torch.outer,
    "matmul": torch.matmul,
    "linear": torch.nn.functional.linear,
    "einsum": torch.einsum,
})
NAMES = list(OPS)[-10:]
SIZES = (0, 1, 1, 2, 3, 4, 5)
SIGNED = ("einsum", "addmm", "baddbmm")  # a sum that is zero, multiplied: its sign is not compared
EQUATIONS = ("ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ii", "ij->i", "ij,ij->", "i,j->ij", "bij,kj->bik",
             "ij,jk,kl->il", "...ij,...jk->...ik", "...i,...i->...", "bhqd,bhkd->bhqk", "ijk,jil->kl", "ij,kl->ijkl")


def sizes_for(rng, name):
    m, n, k, batch = (rng.choice(SIZES) for _ in range(4))
    if name in ("mm", "addmm"):
        return [[m, k], [k, n]]
    if name in ("bmm", "baddbmm"):
        return [[batch, m, k], [batch, k, n]]
    if name == "mv":
        return [[m, k], [k]]
    if name == "dot":
        return [[k], [k]]
    if name == "outer":
        return [[m], [n]]
    if name == "linear":
        lead = rng.choice(([m], [batch, m], [2, batch, m], []))
        return [lead + [k], [n, k]]
    lead_a, lead_b = rng.choice((([], []), ([batch], [batch]), ([batch], []), ([], [batch]), ([batch, 1], [3]), ([1], [batch])))
    return rng.choice(([lead_a + [m, k], lead_b + [k, n]], [[k], [k]], [[m, k], [k]], [[k], lead_b + [k, n]],
                       [lead_a + [m, k], [k]]))


def einsum_sizes(rng, equation):
    size = {letter: rng.choice(SIZES) for letter in "abcdefghijklmnopqrstuvwxyz"}
    lead = rng.choice(([], [2], [3, 2]))
    operands = []
    for letters in equation.split("->")[0].split(","):
        axes = [size[c] for c in letters.replace("...", "")]
        operands.append((lead if "..." in letters else []) + axes)
    return operands


def numbered_case(program, rng, number):
    name = NAMES[number % len(NAMES)]
    dtype = rng.choice([d for d in DTYPES if d != "bool"])
    if name == "einsum" and dtype not in FLOATING:  # torch's sums of integers become i64 inside
        dtype = rng.choice(FLOATING)
    values = [1, 1, 2, 3] if dtype == "u8" else [-2, -1, 1, 1, 2]  # no zeros, which have signs
    equation = rng.choice(EQUATIONS)
    sizes = einsum_sizes(rng, equation) if name == "einsum" else sizes_for(rng, name)
    if rng.random() < 0.05:
        sizes[rng.randrange(len(sizes))].append(2)
    if rng.random() < 0.05 and sizes[-1]:
        sizes[-1][rng.randrange(len(sizes[-1]))] += 1
    tensors = [operand(program, rng, dtype, shape, words_of(rng, dtype, values))[1] for shape in sizes]
    if name == "einsum":
        result = program.do("einsum", equation, tensors)
    elif name in ("addmm", "baddbmm"):
        shape = [*sizes[0][:-1], sizes[1][-1] if sizes[1] else 1]
        shape = rng.choice((shape, shape[1:], shape[-1:], [1] * len(shape)))
        numbers = [Num(rng.choice((0, 1, 1, 2, -1))), Num(rng.choice((1, 1, 2, -1)))]
        added = operand(program, rng, dtype, shape, words_of(rng, dtype, values))[1]
        result = program.do(name, added, *tensors, *numbers)
    elif name == "linear" and rng.random() < 0.5:
        bias = operand(program, rng, dtype, sizes[1][:1], words_of(rng, dtype, values))[1]
        result = program.do(name, *tensors, bias)
    else:
        result = program.do(name, *tensors)
    if program.error is None:
        result = program.do("contiguous", result)
        expect(program, result, "near" if name in SIGNED or dtype in ("f16", "bf16") else "tensor")
