"""Tensors made from nothing, and the layouts of clone, contiguous, to and the *_like functions."""
import math

import torch

from layouts import random_sizes, random_strides, random_tensor
from program import DTYPES, FLOATING, INTEGRAL, NoAnswer, Num

# Exact in every floating dtype, with sums and multiples: the order of operations does not show.
DYADIC = (-4.0, -2.5, -1.0, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
ROUGH = (-3.3, -0.7, -0.1, 0.1, 0.3, 1 / 3, 0.9, 1.1, 2.7, 10.01)
OUT_OF_RANGE = {"i8": (300, -129, 127.5), "u8": (256, -256, 1e9), "i16": (1 << 15, -40000), "i32": (1 << 31, 1e10),
                "i64": (1e19,), "f16": (1e6, -70000), "bf16": (1e300,), "f32": (1e39,)}


def random_dtype(rng, chance_of_none=0.3):
    return None if rng.random() < chance_of_none else rng.choice(list(DTYPES))


def random_number(rng, dtype):
    """A number to fill with; about one in twelve does not fit the dtype."""
    if dtype in OUT_OF_RANGE and rng.random() < 0.08:
        return Num(rng.choice(OUT_OF_RANGE[dtype]))
    if dtype in INTEGRAL and rng.random() < 0.04:
        return Num(rng.choice((float("nan"), float("inf"), float("-inf"))))
    values = [True, False, 0, 1, 5, 100, 0.0, 1.0, 2.5, 0.1, 99.9, -1, -3]
    if dtype != "u8":
        values.append(-2.5)
    if dtype in FLOATING or dtype is None:
        values += [-0.0, 1e-6, 65504.0, float("inf"), float("-inf"), float("nan")]
    return Num(rng.choice(values))


def draw_again_if_contradictory(program, result, number):
    """torch refuses a number too large for f16 or bf16; a single element it fills with infinity all the same."""
    if program.error is None and math.isfinite(number.value):
        tensor = program.value(result)
        if tensor.dtype in (torch.float16, torch.bfloat16) and tensor.numel() == 1 and tensor.isinf().all():
            raise NoAnswer


def spoiled(rng, sizes):
    sizes = sizes or [1]
    sizes[rng.randrange(len(sizes))] = rng.choice((-1, -2))
    return sizes


def arange(program, rng):
    dtype = random_dtype(rng, 0.4)
    kind = rng.choice(("int", "int", "dyadic", "dyadic", "rough", "odd"))
    if kind == "odd":
        numbers = [Num(value) for value in rng.choice((
            (0, 5, 0), (0.0, 1.0, 0.0), (0, float("inf"), 1.0), (float("nan"), 1.0, 1.0), (0, 5, -1), (5, 0, 1),
            (3, 3, 1), (3, 3, -1), (5, 0, -1), (0, 1, 0.25), (0.5, 4, 1), (True, 5, 1), (0, 5, True), (0, 7, 2.5),
            (0.0, 0.0, -0.5), (0, 5, 0.5), (0.5, 5.5, 1.5), (-0.5, 2.5, 1)))]
    elif kind == "int":
        if rng.random() < 0.3:
            result = program.do("arange_to", Num(rng.choice((0, 1, 5, 17, 100, -1, 3.0, 2.5, True))), dtype)
            program.expect_result(result)
            return
        start, step = rng.randint(0, 10), rng.choice((1, 1, 2, 3, 7, -1, -2))
        end = start + step * rng.randint(0, 12) + rng.choice((0, 0, 1))
        if step < 0 and dtype == "u8":
            step, end = -step, start + 5
        if rng.random() < 0.12:
            step = -step
        numbers = [Num(start), Num(end), Num(step)]
    else:
        step = rng.choice(DYADIC if kind == "dyadic" else ROUGH)
        start = rng.choice(DYADIC + (0.0, 8.0)) if kind == "dyadic" else rng.choice(ROUGH)
        end = start + step * rng.randint(0, 40) + rng.choice((0.0, 0.0, step / 2))
        if rng.random() < 0.12:
            step = -step
        numbers = [Num(start), Num(end), Num(step)]
        if (dtype in INTEGRAL and max(abs(start), abs(end)) > 100) or (dtype == "u8" and min(start, end) < 0):
            dtype = "i32"
    result = program.do("arange", *numbers, dtype)
    program.expect_result(result, "near" if kind == "rough" else "tensor")


def linspace(program, rng):
    dtype = rng.choice((None, "f32", "f64", "f64", *INTEGRAL))
    steps = rng.choice((0, 1, 2, 3, 5, 8, 9, 17, 50, 101, 129, -1))
    pool = (0, 1, 5, 10, 100, 3) if dtype == "u8" else (0, 1, 5, 10, 100, -1, -7, 3)
    if dtype not in INTEGRAL:
        pool += ROUGH + DYADIC
    elif rng.random() < 0.2:
        pool = (0.5, 2.5, 7.9, 30.25)
    result = program.do("linspace", Num(rng.choice(pool)), Num(rng.choice(pool)), steps, dtype)
    program.expect_result(result, "near")


def filled(program, rng):
    sizes = random_sizes(rng, max_rank=4)
    if rng.random() < 0.15:
        sizes = spoiled(rng, sizes)
    op, dtype = rng.choice(("full", "full", "zeros", "ones", "empty")), random_dtype(rng)
    number = random_number(rng, dtype)
    result = program.do(op, sizes, number, dtype) if op == "full" else program.do(op, sizes, dtype)
    if op == "full":
        draw_again_if_contradictory(program, result, number)
    program.expect_result(result, "layout" if op == "empty" else "tensor")


def eye(program, rng):
    sizes = (0, 1, 2, 3, 5, 9)
    rows, columns = rng.choice(sizes), rng.choice((None, *sizes))
    if rng.random() < 0.15:
        rows, columns = rng.choice(((-1, None), (3, -1), (-2, 2)))
    program.expect_result(program.do("eye", rows, columns, random_dtype(rng, 0.4)))


def empty_strided(program, rng):
    sizes = random_sizes(rng, max_rank=4)
    strides = random_strides(rng, sizes)
    if rng.random() < 0.2:
        wrong = rng.choice(("length", "size", "stride"))
        if wrong == "length":
            strides = strides + [1]
        elif wrong == "size":
            sizes, strides = spoiled(rng, sizes), strides or [1]
        else:
            strides = spoiled(rng, strides)
            sizes = sizes or [2]
    result = program.do("empty_strided", sizes, strides, random_dtype(rng))
    if program.error is None and min(strides, default=0) < 0:  # torch replaces the stride of a size-1 axis
        raise NoAnswer
    program.expect_result(result, "layout")


def layout_of_copy(program, rng):
    source = rng.choice(list(DTYPES))
    _, x = random_tensor(program, rng, source)
    op = rng.choice(("clone", "clone", "contiguous", "to", "to", "to",
                     "empty_like", "zeros_like", "ones_like", "full_like"))
    arguments, kind = [], "tensor"
    if op == "to":
        narrow = source in FLOATING and program.value(x).untyped_storage().nbytes() // program.value(x).itemsize > 128
        targets = [dtype for dtype in DTYPES if not (narrow and dtype in ("i8", "u8"))]
        arguments = [source if rng.random() < 0.15 else rng.choice(targets)]
    elif op.endswith("_like"):
        dtype = random_dtype(rng)
        arguments = [random_number(rng, dtype or source), dtype] if op == "full_like" else [dtype]
        kind = "layout" if op == "empty_like" else "tensor"
    result = program.do(op, x, *arguments)
    if op == "full_like":
        draw_again_if_contradictory(program, result, arguments[0])
    program.expect_result(result, kind)
    if program.error is None and program.value(result) is program.value(x):
        program.expect(result, f"same {x}")


BUILDERS = (arange, arange, linspace, filled, filled, eye, empty_strided, layout_of_copy, layout_of_copy, layout_of_copy,
          layout_of_copy)


def case(program, rng):
    rng.choice(BUILDERS)(program, rng)
