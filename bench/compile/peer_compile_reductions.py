"""The same calls as compile_reductions.cc, by torch.compile from Python, in inference mode."""

import functools

from server import CACHE, compile_in, nanoseconds_per_call, serve

import torch
import torch.nn.functional as F

ROWS, COLUMNS, HEADS, CLASSES, EPS = 8192, 768, 32, 32000, 1e-5


@torch.compile
def layer_norm_residual(x, residual, weight, bias):
    h = x + residual
    return h, F.layer_norm(h, weight.shape, weight, bias, EPS)


@torch.compile
def rms_norm(x, weight):
    return F.rms_norm(x, weight.shape, weight, EPS)


@torch.compile
def softmax_mask(scores, mask):
    return torch.softmax(scores + mask, -1)


@torch.compile
def cross_entropy(logits, target):
    return F.cross_entropy(logits, target)


@torch.compile
def gelu_mul_sum(a, b):
    return (F.gelu(a, approximate="tanh") * b).sum(-1)


def row(dtype):
    return torch.randn(COLUMNS).to(dtype)


def rows(dtype):
    return torch.randn(ROWS, COLUMNS).to(dtype)


def scores_and_mask(dtype):
    queries = ROWS // HEADS
    hidden = torch.ones(queries, COLUMNS, dtype=torch.bool).triu(COLUMNS - queries + 1)
    mask = torch.zeros(queries, COLUMNS).masked_fill(hidden, -1e9)
    return torch.randn(HEADS, queries, COLUMNS).to(dtype), mask.to(dtype)


FUNCTIONS = {
    "layer_norm_residual": (layer_norm_residual, lambda d: (rows(d), rows(d), row(d), row(d))),
    "rms_norm": (rms_norm, lambda d: (rows(d), row(d))),
    "softmax_mask": (softmax_mask, scores_and_mask),
    "cross_entropy_32000": (
        cross_entropy,
        lambda d: (torch.randn(ROWS, CLASSES).to(d), torch.randint(0, CLASSES, (ROWS,))),
    ),
    "gelu_mul_sum": (gelu_mul_sum, lambda d: (rows(d), rows(d))),
}


@functools.cache
def inputs(name, dtype):
    return FUNCTIONS[name][1](dtype)


def time_case(name, dtype, threads, iters):
    torch.set_num_threads(threads)
    call, arguments = FUNCTIONS[name][0], inputs(name, dtype)
    return nanoseconds_per_call(lambda: call(*arguments), iters)


if __name__ == "__main__":
    compile_in(CACHE)
    cases = {}
    for dtype_name, dtype in [("f32", torch.float32), ("bf16", torch.bfloat16)]:
        for name in FUNCTIONS:
            for threads in (1, 2):
                cases[f"{name}_{dtype_name}_{threads}t"] = functools.partial(time_case, name, dtype, threads)
    with torch.inference_mode():
        serve(cases)
