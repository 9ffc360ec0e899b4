"""The MLP of mlp_compile.cc by torch.compile from Python, in inference mode: one compile for each number of rows."""

import functools

from server import CACHE, compile_in, nanoseconds_per_call, serve

import torch
import torch.nn.functional as F

WIDTH, HIDDEN = 768, 3072


def noise(*sizes, dtype):
    return (torch.randn(*sizes) * 0.05).to(dtype)


@functools.cache
def weights(dtype):
    return noise(HIDDEN, WIDTH, dtype=dtype), noise(HIDDEN, WIDTH, dtype=dtype), noise(WIDTH, HIDDEN, dtype=dtype)


@functools.cache
def compiled(dtype):
    gate, up, down = weights(dtype)

    def mlp(x):
        return F.linear(F.gelu(F.linear(x, gate), approximate="tanh") * F.linear(x, up), down)

    return torch.compile(mlp, dynamic=False)


@functools.cache
def rows_of(rows, dtype):
    return noise(rows, WIDTH, dtype=dtype)


def time_mlp(rows, dtype, threads, iters):
    torch.set_num_threads(threads)
    mlp, x = compiled(dtype), rows_of(rows, dtype)
    mlp(x)
    return nanoseconds_per_call(lambda: mlp(x), iters)


if __name__ == "__main__":
    compile_in(CACHE)
    torch._dynamo.config.recompile_limit = 64
    cases = {}
    for dtype_name, dtype in [("f32", torch.float32), ("bf16", torch.bfloat16)]:
        for rows in (1, 8, 64, 512, 8192):
            for threads in (1, 2):
                cases[f"{rows}_{dtype_name}_{threads}t"] = functools.partial(time_mlp, rows, dtype, threads)
    with torch.inference_mode():
        serve(cases)
