"""Trains nn::GPT's twin in torch and writes what it began with, what it saw and what it lost, for training_test.cc.

python write_answers.py OUT: OUT/gpt.safetensors holds weights, batches and losses, and the settings as metadata.
"""
import argparse
import math
import pathlib

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

VOCABULARY, CONTEXT, LAYERS, HEADS, WIDTH = 256, 64, 4, 4, 256
BATCH, TOKENS, STEPS, LR = 4, 64, 200, 3e-4
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (t.view(batch, tokens, HEADS, -1).transpose(1, 2) for t in self.qkv(x).split(WIDTH, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, WIDTH))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.proj(F.gelu(self.fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.attn, self.ln_2, self.mlp = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH), Mlp()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                residual = name.endswith(("out.weight", "proj.weight"))
                nn.init.normal_(weight, 0, 0.02 / math.sqrt(2 * LAYERS) if residual else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def text():
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/decisions").glob("*.md"))]
    return torch.frombuffer(bytearray(b"".join(file.read_bytes() for file in files)), dtype=torch.uint8).long()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    out = parser.parse_args().out
    torch.manual_seed(5)
    torch.set_num_threads(2)
    model, data = Gpt(), text()
    begins = torch.randint(len(data) - TOKENS - 1, (STEPS, BATCH, 1))
    batches = data[begins + torch.arange(TOKENS + 1)]
    answers = {f"weight.{name}": weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.01)
    losses = []
    for batch in batches:
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    settings = {"vocabulary": VOCABULARY, "context": CONTEXT, "layers": LAYERS, "heads": HEADS, "width": WIDTH, "lr": LR}
    answers |= {"batches": batches, "losses": torch.tensor(losses, dtype=torch.float64)}
    save_file(answers, f"{out}/gpt.safetensors", {name: str(value) for name, value in settings.items()})


if __name__ == "__main__":
    main()
