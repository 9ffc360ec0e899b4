"""The same calls as llm_compile.cc, by torch.compile from Python, in inference mode.

Compiled decoding as usual in torch: a cache that is allocated once, positions as a tensor, and a mask over the whole
cache, so that no token recompiles.
"""

import functools

from server import CACHE, compile_in, nanoseconds_per_call, serve

import torch
import torch.nn.functional as F

VOCABULARY, LAYERS, HEADS, KV_HEADS, WIDTH, HIDDEN, HEAD_WIDTH, CONTEXT = 49152, 30, 9, 3, 576, 1536, 64, 512
ROTARY_BASE, NORM_EPS, CAPACITY = 100000.0, 1e-5, 576
SHARED = KV_HEADS * HEAD_WIDTH


def noise(dtype, *sizes):
    return (torch.randn(*sizes) * 0.02).to(dtype)


def make_layer(dtype):
    return {
        "input_norm": torch.ones(WIDTH, dtype=dtype),
        "qkv": noise(dtype, WIDTH + 2 * SHARED, WIDTH),
        "out": noise(dtype, WIDTH, WIDTH),
        "post_norm": torch.ones(WIDTH, dtype=dtype),
        "gate": noise(dtype, HIDDEN, WIDTH),
        "up": noise(dtype, HIDDEN, WIDTH),
        "down": noise(dtype, WIDTH, HIDDEN),
        "keys": torch.zeros(1, KV_HEADS, CAPACITY, HEAD_WIDTH, dtype=dtype),
        "values": torch.zeros(1, KV_HEADS, CAPACITY, HEAD_WIDTH, dtype=dtype),
    }


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def by_head(x, heads):
    return x.view(1, -1, heads, HEAD_WIDTH).transpose(1, 2)


def next_logits(model, tokens, position, is_first):
    """Returns the logits of the last of the tokens, which are at `position`."""
    rates = 1 / ROTARY_BASE ** (torch.arange(0, HEAD_WIDTH, 2, dtype=torch.float32) / HEAD_WIDTH)
    angle = (position.float().unsqueeze(1) * rates).repeat(1, 2)
    cos, sin = angle.cos().to(model["embed"].dtype), angle.sin().to(model["embed"].dtype)
    seen = torch.arange(CAPACITY) <= position.unsqueeze(1)
    x = F.embedding(tokens, model["embed"])
    for layer in model["layers"]:
        normed = F.rms_norm(x, (WIDTH,), layer["input_norm"], NORM_EPS)
        query, key, value = F.linear(normed, layer["qkv"]).split([WIDTH, SHARED, SHARED], -1)
        query, key = rotated(by_head(query, HEADS), cos, sin), rotated(by_head(key, KV_HEADS), cos, sin)
        value = by_head(value, KV_HEADS)
        layer["keys"].index_copy_(2, position, key)
        layer["values"].index_copy_(2, position, value)
        if is_first:  # enable_gqa would take twice the time
            key, value = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (key, value))
            attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            attended = F.scaled_dot_product_attention(query, layer["keys"], layer["values"], seen, enable_gqa=True)
        x = x + F.linear(attended.transpose(1, 2).reshape(1, -1, WIDTH), layer["out"])
        y = F.rms_norm(x, (WIDTH,), layer["post_norm"], NORM_EPS)
        x = x + F.linear(F.silu(F.linear(y, layer["gate"])) * F.linear(y, layer["up"]), layer["down"])
    return F.linear(F.rms_norm(x[:, -1], (WIDTH,), model["norm"], NORM_EPS), model["embed"])


compiled = torch.compile(next_logits)


@functools.cache
def model_of(dtype):
    return {
        "embed": noise(dtype, VOCABULARY, WIDTH),
        "norm": torch.ones(WIDTH, dtype=dtype),
        "layers": [make_layer(dtype) for _ in range(LAYERS)],
    }


@functools.cache
def prompt():
    return torch.randint(0, VOCABULARY, (1, CONTEXT)), torch.arange(CONTEXT)


def time_prefill(dtype, threads, iters):
    torch.set_num_threads(threads)
    tokens, position = prompt()
    model = model_of(dtype)
    return nanoseconds_per_call(lambda: compiled(model, tokens, position, True), iters)


def time_decode(dtype, threads, iters):
    torch.set_num_threads(threads)
    model, token, position = model_of(dtype), prompt()[0][:, :1], torch.tensor([CONTEXT])
    return nanoseconds_per_call(lambda: compiled(model, token, position, False), iters)


if __name__ == "__main__":
    compile_in(CACHE)
    cases = {}
    for dtype_name, dtype in [("f32", torch.float32), ("bf16", torch.bfloat16)]:
        for name, timed in [("prefill_512", time_prefill), ("decode_at_512", time_decode)]:
            for threads in (1, 2):
                cases[f"{name}_{dtype_name}_{threads}t"] = functools.partial(timed, dtype, threads)
    with torch.inference_mode():
        serve(cases)
