"""The same calls as compile.cc, by torch.compile from Python, in inference mode."""

import functools

from server import CACHE, compile_in, nanoseconds_per_call, serve

import torch
import torch.nn.functional as F


def noise(*sizes, dtype=torch.float32):
    return (torch.randn(*sizes) * 0.05).to(dtype)


@torch.compile
def add(a, b):
    return a + b


@torch.compile
def gelu_mul(a, b):
    return F.gelu(a, approximate="tanh") * b


@functools.cache
def matrices(dtype):
    return noise(8192, 3072, dtype=dtype), noise(8192, 3072, dtype=dtype)


def time_add(iters):
    torch.set_num_threads(1)
    a, b = noise(8), noise(8)
    add(a, b)
    return nanoseconds_per_call(lambda: add(a, b), iters)


def time_gelu_mul(dtype, threads, iters):
    torch.set_num_threads(threads)
    a, b = matrices(dtype)
    return nanoseconds_per_call(lambda: gelu_mul(a, b), iters)


if __name__ == "__main__":
    compile_in(CACHE)
    cases = {"add_8": time_add}
    for dtype_name, dtype in [("f32", torch.float32), ("bf16", torch.bfloat16)]:
        for threads in (1, 2):
            cases[f"gelu_mul_{dtype_name}_{threads}t"] = functools.partial(time_gelu_mul, dtype, threads)
    with torch.inference_mode():
        serve(cases)
