"""Eighteen small models, with inputs for each and labels for the eleven that are trained. Nothing is downloaded.

Transformers come from their configurations; the others are written here. Weights and inputs are drawn from a fixed seed.
"""
import functools
import typing
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 128
DECODER = dict(num_hidden_layers=2, hidden_size=64, intermediate_size=128, num_attention_heads=4, num_key_value_heads=2,
               vocab_size=VOCABULARY, max_position_embeddings=64)


@dataclass
class Example:
    model: nn.Module
    inputs: dict[str, typing.Any]  # arguments of forward
    labels: dict[str, torch.Tensor] | None = None  # further arguments, with which forward computes the loss


def tokens(batch=2, length=16, below=VOCABULARY):
    return torch.randint(0, below, (batch, length))


def from_config(config, model, **settings):
    """Returns a model of transformers with random weights. `config` and `model` are names of classes."""
    import transformers

    made = getattr(transformers, config)(**settings)
    made._attn_implementation = "sdpa"
    return getattr(transformers, model)(made)


def causal(model):
    text = tokens()
    return Example(model, dict(input_ids=text, use_cache=False), dict(labels=text))


def gpt2():
    return causal(from_config("GPT2Config", "GPT2LMHeadModel", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY,
                              n_positions=64, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def llama():
    return causal(from_config("LlamaConfig", "LlamaForCausalLM", **DECODER))


def qwen2():
    return causal(from_config("Qwen2Config", "Qwen2ForCausalLM", **DECODER))


def qwen3():
    return causal(from_config("Qwen3Config", "Qwen3ForCausalLM", head_dim=16, **DECODER))


def mistral():
    return causal(from_config("MistralConfig", "MistralForCausalLM", sliding_window=8, **DECODER))


def mixtral():
    return causal(from_config("MixtralConfig", "MixtralForCausalLM", num_local_experts=4, num_experts_per_tok=2, **DECODER))


def bert():
    model = from_config("BertConfig", "BertForSequenceClassification", num_hidden_layers=2, hidden_size=64,
                        num_attention_heads=4, intermediate_size=128, vocab_size=VOCABULARY, hidden_dropout_prob=0.0,
                        attention_probs_dropout_prob=0.0)
    mask = torch.ones(2, 16, dtype=torch.long)
    return Example(model, dict(input_ids=tokens(), attention_mask=mask), dict(labels=torch.tensor([0, 1])))


def t5():
    model = from_config("T5Config", "T5ForConditionalGeneration", num_layers=2, d_model=64, d_kv=16, d_ff=128, num_heads=4,
                        vocab_size=VOCABULARY, dropout_rate=0.0)
    return Example(model, dict(input_ids=tokens(), decoder_input_ids=tokens(length=8), use_cache=False),
                   dict(labels=tokens(length=8)))


def vit():
    model = from_config("ViTConfig", "ViTForImageClassification", num_hidden_layers=2, hidden_size=64, num_attention_heads=4,
                        intermediate_size=128, image_size=32, patch_size=8, num_labels=10)
    return Example(model, dict(pixel_values=torch.randn(2, 3, 32, 32)), dict(labels=torch.tensor([1, 2])))


def clip():
    layers = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
    text = dict(**layers, vocab_size=VOCABULARY, max_position_embeddings=32, eos_token_id=VOCABULARY - 1)
    vision = dict(**layers, image_size=32, patch_size=8)
    model = from_config("CLIPConfig", "CLIPModel", text_config=text, vision_config=vision, projection_dim=32)
    return Example(model, dict(input_ids=tokens(below=VOCABULARY - 1), pixel_values=torch.randn(2, 3, 32, 32)))


def whisper():
    model = from_config("WhisperConfig", "WhisperForConditionalGeneration", d_model=64, encoder_layers=2, decoder_layers=2,
                        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
                        vocab_size=VOCABULARY, num_mel_bins=16, max_source_positions=32, max_target_positions=32,
                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, dropout=0.0)
    return Example(model, dict(input_features=torch.randn(2, 16, 64), decoder_input_ids=tokens(length=8), use_cache=False))


class GeGlu(nn.Module):
    def __init__(self, width=64, hidden=128):
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.gate(x), approximate="tanh") * self.up(x))


def geglu():
    return Example(GeGlu(), dict(x=torch.randn(8, 64)))


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs, stride=1):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(ResidualBlock(16, 16), ResidualBlock(16, 32, 2))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(32, 10)

    def forward(self, x, y=None):
        logits = self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))
        return logits if y is None else F.cross_entropy(logits, y)


def resnet():
    return Example(ResNet(), dict(x=torch.randn(2, 3, 32, 32)), dict(y=torch.tensor([1, 2])))


class ConvNeXtBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.expand, self.contract = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-2))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.contract(F.gelu(self.expand(y))) * self.scale
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(3, 32, 4, 4), nn.Sequential(ConvNeXtBlock(32), ConvNeXtBlock(32))
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x, y=None):
        logits = self.head(self.norm(self.blocks(self.stem(x)).mean([-2, -1])))
        return logits if y is None else F.cross_entropy(logits, y)


def convnext():
    return Example(ConvNeXt(), dict(x=torch.randn(2, 3, 32, 32)), dict(y=torch.tensor([1, 2])))


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm1 = nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16)
        self.depthwise, self.norm2 = nn.Conv2d(16, 16, 3, 1, 1, groups=16, bias=False), nn.BatchNorm2d(16)
        self.squeeze, self.excite, self.head = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1), nn.Linear(16, 10)

    def forward(self, x, y=None):
        x = shortcut = F.hardswish(self.norm1(self.stem(x)))
        x = F.relu6(self.norm2(self.depthwise(x)))
        weight = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
        x = x * weight + shortcut
        logits = self.head(F.dropout(x.mean([2, 3]), 0.2, self.training))
        return logits if y is None else F.cross_entropy(logits, y)


def mobilenet():
    return Example(MobileNet(), dict(x=torch.randn(2, 3, 32, 32)), dict(y=torch.tensor([1, 2])))


class UNet(nn.Module):
    """One level of a diffusion model: time embedding, group norms, attention over pixels, a skip connection."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, width))
        self.norm1, self.conv1 = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.down, self.norm2 = nn.Conv2d(width, 2 * width, 3, 2, 1), nn.GroupNorm(4, 2 * width)
        self.conv2, self.attention = nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.MultiheadAttention(2 * width, 4, batch_first=True)
        self.up, self.norm3 = nn.ConvTranspose2d(2 * width, width, 2, 2), nn.GroupNorm(4, 2 * width)
        self.conv3, self.last = nn.Conv2d(2 * width, width, 3, padding=1), nn.Conv2d(width, 3, 1)

    def forward(self, x, t, target=None):
        angles = t[:, None] * torch.exp(-torch.arange(16) * (9.2 / 16))[None]
        embedding = self.time(torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype))
        skipped = self.conv1(F.silu(self.norm1(self.first(x)))) + embedding[:, :, None, None]
        y = self.conv2(F.silu(self.norm2(self.down(skipped))))
        batch, channels, height, width = y.shape
        pixels = y.flatten(2).transpose(1, 2)
        pixels = self.attention(pixels, pixels, pixels, need_weights=False)[0]
        y = y + pixels.transpose(1, 2).reshape(batch, channels, height, width)
        y = self.conv3(F.silu(self.norm3(torch.cat([self.up(y), skipped], 1))))
        y = self.last(F.avg_pool2d(F.interpolate(y, scale_factor=2.0, mode="nearest"), 2))
        return y if target is None else F.mse_loss(y, target)


def unet():
    return Example(UNet(), dict(x=torch.randn(2, 3, 16, 16), t=torch.tensor([1.0, 2.0])), dict(target=torch.randn(2, 3, 16, 16)))


class Lstm(nn.Module):
    """Dynamo leaves nn.LSTM to PyTorch: what a backend sees are the graphs before and after it."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(VOCABULARY, 32), nn.LSTM(32, 48, 2, batch_first=True)
        self.head = nn.Linear(48, VOCABULARY)

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0])


def lstm():
    return Example(Lstm(), dict(x=tokens()))


class Dlrm(nn.Module):
    """A recommender: embedding bags, and the inner products of each pair of embeddings."""

    def __init__(self, tables=3, width=16):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(100, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("rows", torch.tensor([1, 2, 2, 3, 3, 3]))
        self.register_buffer("columns", torch.tensor([0, 0, 1, 0, 1, 2]))

    def forward(self, dense, indices, offsets, y=None):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(indices[i], offsets[i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(features, features.transpose(1, 2))[:, self.rows, self.columns]
        score = self.top(torch.cat([x, products], 1)).squeeze(1)
        return torch.sigmoid(score) if y is None else F.binary_cross_entropy_with_logits(score, y)


def dlrm():
    return Example(Dlrm(), dict(dense=torch.randn(4, 13), indices=torch.randint(0, 100, (3, 12)), offsets=torch.tensor([[0, 3, 6, 9]] * 3)),
                   dict(y=torch.tensor([0.0, 1.0, 0.0, 1.0])))


TRANSFORMERS = {function.__name__: function
                for function in (gpt2, llama, qwen2, qwen3, mistral, mixtral, bert, t5, vit, clip, whisper)}
OTHERS = {function.__name__: function for function in (geglu, resnet, convnext, mobilenet, unet, lstm, dlrm)}
MODELS = {**TRANSFORMERS, **OTHERS}
TRAINED = ("gpt2", "llama", "qwen3", "bert", "t5", "vit", "resnet", "convnext", "unet", "dlrm", "mobilenet")


def example(name) -> Example:
    """Returns the model `name` with its inputs, the same in each call."""
    torch.manual_seed(0)
    return MODELS[name]()


@functools.cache
def has_transformers():
    try:
        import transformers  # noqa: F401
    except ImportError:
        return False
    return True
