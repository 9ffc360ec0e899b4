"""The models of the benchmark: those of python/tests/torch_backend/zoo.py in sizes that take milliseconds."""

import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests" / "torch_backend"))

import zoo  # noqa: E402

NO_DROPOUT = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)


def text(batch, length, vocabulary=8192):
    return torch.randint(0, vocabulary, (batch, length))


def gpt2(layers, width, heads, vocabulary=8192):
    return zoo.from_config("GPT2Config", "GPT2LMHeadModel", n_layer=layers, n_embd=width, n_head=heads, vocab_size=vocabulary,
                           n_positions=1024, bos_token_id=0, eos_token_id=0, **NO_DROPOUT)


def llama(layers, width=576, hidden=1536, heads=9, shared_heads=3, vocabulary=8192):
    return zoo.from_config("LlamaConfig", "LlamaForCausalLM", num_hidden_layers=layers, hidden_size=width, intermediate_size=hidden,
                           num_attention_heads=heads, num_key_value_heads=shared_heads, vocab_size=vocabulary,
                           max_position_embeddings=2048)


def bert():
    return zoo.from_config("BertConfig", "BertModel", num_hidden_layers=6, hidden_size=384, num_attention_heads=12,
                           intermediate_size=1536, vocab_size=8192)


def vit():
    return zoo.from_config("ViTConfig", "ViTForImageClassification", num_hidden_layers=4, hidden_size=384, num_attention_heads=6,
                           intermediate_size=1536, image_size=224, patch_size=16, num_labels=10)


# name: (model, inputs), for inference
STEADY = {
    "geglu": lambda: (zoo.GeGlu(512, 1408), dict(x=torch.randn(256, 512))),
    "geglu_1_row": lambda: (zoo.GeGlu(512, 1408), dict(x=torch.randn(1, 512))),
    "gpt2": lambda: (gpt2(4, 256, 4), dict(input_ids=text(2, 64), use_cache=False)),
    "gpt2_1_token": lambda: (gpt2(4, 256, 4), dict(input_ids=text(1, 1), use_cache=False)),
    "llama": lambda: (llama(4), dict(input_ids=text(2, 64), use_cache=False)),
    "bert": lambda: (bert(), dict(input_ids=text(2, 64), attention_mask=torch.ones(2, 64, dtype=torch.long))),
    "vit": lambda: (vit(), dict(pixel_values=torch.randn(1, 3, 224, 224))),
    "resnet": lambda: (zoo.ResNet(), dict(x=torch.randn(4, 3, 128, 128))),
    "convnext": lambda: (zoo.ConvNeXt(), dict(x=torch.randn(4, 3, 128, 128))),
    "unet": lambda: (zoo.UNet(), dict(x=torch.randn(2, 3, 64, 64), t=torch.tensor([1.0, 2.0]))),
}

FIRST_CALL = {
    "geglu": STEADY["geglu"],
    "gpt2_small": lambda: (gpt2(12, 768, 12, 50257), dict(input_ids=text(1, 64, 50000), use_cache=False)),
    "llama_8_layers": lambda: (llama(8, vocabulary=49152), dict(input_ids=text(1, 64, 49000), use_cache=False)),
}

# Small ones for smoke tests: they have no goals.
QUICK = {
    "geglu": lambda: (zoo.GeGlu(), dict(x=torch.randn(8, 64))),
    "convnext": lambda: (zoo.ConvNeXt(), dict(x=torch.randn(2, 3, 32, 32))),
}


def training_gpt2(batch=4, length=64):
    return gpt2(4, 256, 4, 4096), text(batch, length, 4096)


def training_llama(batch=4, length=64):
    return llama(4, 256, 768, 4, 2, 4096), text(batch, length, 4096)


TRAINING = {"gpt2": training_gpt2, "llama": training_llama}


def loss_of(model, tokens):
    """The loss is computed here: the one of transformers breaks the graph."""
    logits = model(input_ids=tokens, use_cache=False).logits
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), tokens[:, 1:].flatten())


def made(table, name, dtype=torch.float32):
    """Returns the model and inputs `name` of a table, in `dtype`, the same in each process."""
    torch.manual_seed(0)
    model, inputs = table[name]()
    inputs = {key: value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
              for key, value in inputs.items()}
    return model.to(dtype).eval(), inputs
