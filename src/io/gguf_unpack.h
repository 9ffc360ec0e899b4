// The types of tensors in GGUF: their sizes, and numbers out of blocks of a few bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pellucid/tensor.h"

namespace pel::io {

struct GgufType {
  std::uint32_t code;
  std::string_view name;
  std::uint32_t block_elements, block_bytes;
  std::optional<DType> plain{};  // a type that is one of our dtypes
  // The elements of `blocks` blocks, in the bits that ggml's own reference gives. Null: not unpacked here.
  void (*unpack)(const std::uint8_t* src, std::size_t blocks, float* dst) = nullptr;

  bool is_readable() const { return plain || unpack; }
};

// Null for a code that the format did not have when this was written.
const GgufType* find_gguf_type(std::uint32_t code);
std::string readable_gguf_types();  // "F32, F16, …"

// All the blocks of a tensor, whose bytes have been held against its sizes, to f32, or by way of f32 to f16
// or bf16. The type has an `unpack`.
Tensor unpack_gguf(const GgufType& type, std::string_view bytes, std::span<const std::int64_t> sizes,
                   DType dtype);

}  // namespace pel::io
