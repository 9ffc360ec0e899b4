"""Attention, of small numbers: roundings differ, so results are near.

Not drawn: rows that see no key, which are zeros here and NaN in some of torch's kernels; a negative scale with
is_causal, which is NaN there; rows that overlap in memory, which its kernels read elsewhere."""
import torch

from families.pointwise import operand
from families.reductions import words_of
from families.sorting import expect
from program import FLOATING, Num, OPS

NAME = "scaled_dot_product_attention"


def torch_attention(query, key, value, mask, dropout, is_causal, scale, grouped):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, dropout.value, is_causal.value,
                                                            scale=None if scale is None else scale.value,
                                                            enable_gqa=grouped.value)


OPS[NAME] = torch_attention


def numbered_case(program, rng, number):
    dtype = rng.choice(FLOATING)
    queries, keys = rng.choice((1, 2, 5, 9)), rng.choice((1, 3, 8, 17))
    width, values = rng.choice((1, 4, 8, 16)), rng.choice((1, 3, 16))
    grouped = rng.random() < 0.2
    key_heads = rng.choice((1, 2))
    heads = key_heads * (rng.choice((2, 3)) if grouped else 1)
    lead, key_lead = ([2, heads], [2, key_heads]) if grouped else rng.choice((([], []), ([3], [3]), ([2, heads],) * 2))
    if rng.random() < 0.04:
        key_lead = [*key_lead, 5]

    def tensor(sizes, numbers):
        return operand(program, rng, dtype, sizes, words_of(rng, dtype, numbers), layouts=("dense", "permuted"))[1]

    query, key = tensor([*lead, queries, width], [-1, 0, 0.5, 1]), tensor([*key_lead, keys, width], [-1, 0, 0.5, 1])
    value = tensor([*key_lead, keys, values], [0.5, 1, 1.5, 3])  # nothing cancels
    kind = rng.choice(("none", "none", "causal", "bool", "number"))
    mask = None
    if kind == "bool":
        mask = operand(program, rng, "bool", [queries, keys], words_of(rng, "bool", [1, 1, 1, 0]))[1]
        if not bool(program.value(mask).any(-1).all()):
            mask = None
    if kind == "number":
        mask = tensor([queries, keys], [-2, 0, 1])
    scale = Num(rng.choice((0.5, 1.0, 0.25 if kind == "causal" else -0.25))) if rng.random() < 0.3 else None
    result = program.do(NAME, query, key, value, mask, Num(0.0), Num(kind == "causal"), scale, Num(grouped))
    if program.error is None:
        result = program.do("contiguous", result)
    expect(program, result, "near")
