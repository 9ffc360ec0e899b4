"""Ops of the graphs that torch.compile hands to a backend, which users do not call by name.

Not drawn: groups that leave a part of their axis out, which torch does not write; strides that torch's grouped_mm
refuses. Not compared: strides of results, which are row-major here."""
import torch

from families.picking import judged, small_words
from families.pointwise import operand
from families.reductions import words_of
from families.sorting import expect
from layouts import random_axis, random_sizes
from program import Bits, DTYPES, FLOATING, Num, OPS

aten = torch.ops.aten

OPS.update({
    "safe_softmax": lambda x, axis: aten._safe_softmax(x, axis),
    "grouped_mm": lambda a, b, ends=None: aten._grouped_mm(a, b, ends),
    "histc": lambda x, bins=100, low=Num(0), high=Num(0): torch.histc(x, bins, low.value, high.value),
    "empty_permuted": judged(lambda sizes, order, dtype: torch.empty_permuted(
        sizes, order, **({} if dtype is None else {"dtype": DTYPES[dtype]}))),
    "_embedding_bag": lambda w, i, o, scale, mode, sparse, weights, last, padding: aten._embedding_bag(
        w, i, o, False, mode, False, weights, last.value, padding),
    "_embedding_bag_forward_only": lambda w, i, o, scale, mode, sparse, weights, last, padding:
        aten._embedding_bag_forward_only(w, i, o, False, mode, False, weights, last.value, padding),
    "_embedding_bag_backward": lambda g, i, o, bags, sizes, rows, count, scale, mode, sparse, weights, padding:
        aten._embedding_bag_backward(g, i, o, bags, sizes, rows, count, scale.value, mode, False, weights, padding),
    "_embedding_bag_dense_backward": lambda g, i, bags, sizes, rows, count, scale, mode, weights, padding:
        aten._embedding_bag_dense_backward(g, i, bags, sizes, rows, count, scale.value, mode, weights, padding),
    "_embedding_bag_per_sample_weights_backward": lambda g, w, i, o, bags, mode, padding:
        aten._embedding_bag_per_sample_weights_backward(g, w, i, o, bags, mode, padding),
})


def near(program, result):
    if program.error is None:
        result = program.do("contiguous", result)
    expect(program, result, "near")


def safe_softmax(program, rng):
    dtype = rng.choice(FLOATING)
    sizes = random_sizes(rng)
    values = rng.choice(([-float("inf")], [-float("inf")] * 4 + [1, 2.5], [*range(-4, 5)], [float("nan"), -float("inf")]))
    x = operand(program, rng, dtype, sizes, words_of(rng, dtype, values))[1]
    near(program, program.do("safe_softmax", x, random_axis(rng, len(sizes), bad=rng.random() < 0.04)))


def grouped_mm(program, rng):
    dtype = rng.choice(("f32", "f32", "bf16", "f16"))
    groups, m, k, n = rng.choice((1, 2, 3)), *(rng.choice((8, 16)) for _ in range(3))
    kind = rng.choice(("rows", "rows", "columns", "inner", "batch"))
    a = [m, k] if kind in ("rows", "inner") else [groups, m, k]
    b = [k, n] if kind in ("columns", "inner") else [groups, k, n]

    def matrix(sizes):
        is_transposed = rng.random() < 0.4
        stored = [*sizes[:-2], sizes[-1], sizes[-2]] if is_transposed else sizes
        words = words_of(rng, dtype, [-2, -1, 1, 1, 2])
        count = torch.Size(stored).numel()
        x = program.do("as_strided", program.do("data", Bits(dtype, rng.choices(words, k=count))), stored,
                       list(torch.empty(stored).stride()), 0)
        return program.do("transpose", x, -2, -1) if is_transposed else x
    operands = [matrix(a), matrix(b)]
    if kind != "batch":
        length = {"rows": m, "columns": n, "inner": k}[kind]
        ends = sorted(rng.randint(0, length) for _ in range(groups - 1)) + [length]
        operands.append(program.do("data", Bits("i32", ends)))
    near(program, program.do("grouped_mm", *operands))


def histc(program, rng):
    dtype = rng.choice(FLOATING)
    sizes = rng.choice(([0], [1], [5], [20], [60], [4, 7], []))
    values = [*range(-2, 9)] + rng.choice(([], [0.5, 0.25, 3.75], [float("nan")], [float("inf")]))
    x = operand(program, rng, dtype, sizes, words_of(rng, dtype, values))[1]
    arguments = [rng.choice((1, 2, 4, 8, 8, 16, 0 if rng.random() < 0.1 else 3))]
    if rng.random() < 0.8:
        low = rng.choice((0, -2, 0.5))
        arguments += [Num(low), Num(rng.choice((low, low + 8, low + 4, low - 1 if rng.random() < 0.2 else low + 1)))]
        if arguments[0] == 3:
            arguments[0] = 4
    expect(program, program.do("histc", x, *arguments))


def empty_permuted(program, rng):
    sizes = random_sizes(rng, max_rank=4)
    order = list(range(len(sizes)))
    rng.shuffle(order)
    if order and rng.random() < 0.15:
        order[0] = rng.choice((order[-1], -1, len(sizes)))
    dtype = rng.choice((None, *DTYPES))
    result = program.do("empty_permuted", sizes, order, dtype)
    program.expect_result(result, "layout")


def embedding_bag(program, rng):
    rows, width, count = rng.choice((3, 7)), rng.choice((1, 4, 9)), rng.randint(1, 9)
    dtype = rng.choice(("f32", "f64"))
    integers = rng.choice(("i64", "i64", "i32"))
    words = small_words(dtype)

    def data(sizes, layouts=("dense",)):
        return operand(program, rng, dtype, sizes, words, layouts=layouts)[1]
    weight = data([rows, width])
    ids = program.do("data", Bits(integers, [rng.randrange(rows) for _ in range(count)]))
    last = rng.random() < 0.3
    starts = [0, *sorted(rng.randint(0, count) for _ in range(rng.randint(0, 3)))]
    offsets = program.do("data", Bits(integers, starts + ([count] if last else [])))
    mode = rng.randrange(3)
    weights = None
    if mode == 0 and rng.random() < 0.4:
        weights = program.do("data", Bits(dtype, rng.choices(words, k=count)))
    padding = rng.choice((-1, -1, 0))
    scale = Num(mode != 2 and rng.random() < 0.3)
    only = rng.random() < 0.2
    bags = program.do("_embedding_bag_forward_only" if only else "_embedding_bag", weight, ids, offsets, Num(False), mode,
                      Num(False), weights, Num(last), padding)
    if program.error is not None:
        return
    expect(program, bags, "near")
    if only:
        return
    of_indices, sizes, max_rows = (program.do("pick", bags, i) for i in (1, 2, 3))
    grad = data([len(starts), width])
    result = program.do("_embedding_bag_backward", grad, ids, offsets, of_indices, sizes, max_rows, rows, scale, mode,
                        Num(False), weights, padding)
    near(program, result)
    if program.error is None and program.value(of_indices).numel() > 0:
        near(program, program.do("_embedding_bag_dense_backward", grad, ids, of_indices, sizes, max_rows, rows, scale, mode,
                                 weights, padding))
    if program.error is None and mode == 0:
        if program.value(of_indices).numel() == 0:
            of_indices = program.do("data", Bits(integers, [max(b for b, s in enumerate(starts) if s <= i)
                                                            for i in range(count)]))
        near(program, program.do("_embedding_bag_per_sample_weights_backward", grad, weight, ids, offsets, of_indices, mode,
                                 padding))


BUILDERS = (safe_softmax, grouped_mm, histc, empty_permuted, embedding_bag)


def numbered_case(program, rng, number):
    BUILDERS[number % len(BUILDERS)](program, rng)
