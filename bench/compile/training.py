"""The training of compile_training.cc in torch: the model with its loss compiled, and the optimiser's step too."""

import ctypes
import gc
import re

from peer_compile_first import Gpt
from server import nanoseconds_per_call

import torch
import torch.nn.functional as F

VOCABULARY, LAYERS, HEADS, WIDTH, BATCH, TOKENS, STEPS = 8192, 4, 4, 256, 8, 128, 3


class Training:
    def __init__(self):
        self.model = Gpt(VOCABULARY, TOKENS, LAYERS, HEADS, WIDTH)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
        self.text = torch.randint(0, VOCABULARY, (BATCH, TOKENS))
        self.next = torch.randint(0, VOCABULARY, (BATCH, TOKENS))
        self.loss = torch.compile(lambda text, next: F.cross_entropy(self.model(text).flatten(0, 1), next.flatten()))

    def step(self):
        self.optimizer.zero_grad()
        loss = self.loss(self.text, self.next)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def time_steps(training, threads, iters):
    torch.set_num_threads(threads)
    return nanoseconds_per_call(training().step, iters)


def memory_bytes(field):
    with open("/proc/self/status") as status:
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1]) * 1024


def step_bytes(training, _):
    """The same method as support/memory_peak.h."""
    torch.set_num_threads(2)
    for _ in range(STEPS):
        training().step()
    training().optimizer.zero_grad()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")
    before = memory_bytes("VmRSS")
    for _ in range(STEPS):
        training().step()
    return memory_bytes("VmHWM") - before
