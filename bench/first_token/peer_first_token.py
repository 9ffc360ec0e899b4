"""The same by torch.compile: a process that imports torch, reads the weights, finds the compiled code in Inductor's cache, and writes a token.

A first process, which is not timed, fills the cache.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "llm"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from server import CACHE, compile_in, serve  # noqa: E402

FOLDER = CACHE.parent / "first_token"
PROMPT = 1
# Names of peer_llm_compile, and those of first_token.cc.
NAMES = {"input_norm": "input_norm", "qkv": "attention.qkv", "out": "attention.out", "post_norm": "post_norm", "gate": "mlp.gate", "up": "mlp.up",
         "down": "mlp.down"}


def write_first_token():
    compile_in(CACHE)
    import peer_llm_compile as llm
    import torch
    from safetensors.torch import load_file

    llm.CAPACITY = 256
    with torch.inference_mode():
        weights = load_file(FOLDER / "weights.safetensors")
        cache = torch.zeros(1, llm.KV_HEADS, llm.CAPACITY, llm.HEAD_WIDTH)
        layers = [{name: weights[f"layers.{layer}.{ours}.weight"] for name, ours in NAMES.items()} | {"keys": cache.clone(), "values": cache.clone()}
                  for layer in range(llm.LAYERS)]
        model = {"embed": weights["embed.weight"], "norm": weights["norm.weight"], "layers": layers}
        logits = llm.compiled(model, torch.tensor([[PROMPT]]), torch.tensor([0]), False)
        print(logits.argmax().item(), flush=True)


def nanoseconds_to_output():
    start = time.perf_counter_ns()
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen([sys.executable, __file__, "--token"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as child:
            first = child.stdout.read(1)
            took = time.perf_counter_ns() - start
        if child.returncode != 0 or not first:
            said.seek(0)
            raise RuntimeError(f"the process wrote no token, code {child.returncode}: {said.read().decode(errors='replace')[-2000:]}")
    return took


def smollm2_f32(iters):
    if not prepared:
        nanoseconds_to_output()
        prepared.append(True)
    return sum(nanoseconds_to_output() for _ in range(iters)) / iters


prepared = []

if __name__ == "__main__":
    if sys.argv[1:] == ["--token"]:
        write_first_token()
    else:
        serve({"smollm2_f32": smollm2_f32})
