"""First calls of compiled functions. The driver runs each in its own process.

Cold: the cache on disk is empty. Warm: it holds everything from an earlier compile. The modules of the compiler are
imported, and the function has run once without it, before the clock starts.
"""

import subprocess
import sys
import tempfile

from server import CACHE, compile_in, nanoseconds_per_call, serve

import torch
import torch._dynamo
import torch._inductor.compile_fx
import torch.nn.functional as F
from torch import nn


def mlp(x, gate, up, down):
    return F.linear(F.gelu(F.linear(x, gate), approximate="tanh") * F.linear(x, up), down)


def mlp_inputs():
    return [torch.randn(*sizes) * 0.05 for sizes in [(128, 768), (3072, 768), (3072, 768), (768, 3072)]]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.ln_1(x)).split(width, dim=2)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2, small."""

    def __init__(self, vocabulary=50257, context=1024, layers=12, heads=12, width=768):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.h = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def first_call(f, inputs, folder):
    compile_in(folder)
    torch.set_num_threads(2)
    f(*inputs)
    return nanoseconds_per_call(lambda: torch.compile(f)(*inputs))


def mlp_cold(_):
    with tempfile.TemporaryDirectory() as folder:
        return first_call(mlp, mlp_inputs(), folder)


def mlp_warm(_):
    folder = CACHE / f"mlp_{torch.__version__}"
    if not folder.exists():
        folder.mkdir(parents=True)
        subprocess.run([sys.executable, __file__], input="run mlp_warm 1\n", text=True, stdout=subprocess.PIPE, check=True)
    return first_call(mlp, mlp_inputs(), folder)


def gpt_cold(_):
    with tempfile.TemporaryDirectory() as folder:
        return first_call(Gpt().eval(), [torch.randint(0, 50257, (1, 64))], folder)


if __name__ == "__main__":
    with torch.inference_mode():
        serve({"mlp_cold": mlp_cold, "mlp_warm": mlp_warm, "gpt_cold": gpt_cold})
