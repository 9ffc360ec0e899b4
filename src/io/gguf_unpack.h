// The types of tensors in GGUF: their sizes, and how their quantized blocks are unpacked.
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
  std::optional<DType> plain{};  // set if the type is also a dtype of this library
  // Writes the elements of `blocks` blocks, with the bits of ggml's reference. Null: unsupported.
  void (*unpack)(const std::uint8_t* src, std::size_t blocks, float* dst) = nullptr;

  bool is_readable() const { return plain || unpack; }
};

// Returns null for a code that the format did not have when this was written.
const GgufType* find_gguf_type(std::uint32_t code);
std::string readable_gguf_types();  // "F32, F16, …"

// Unpacks all blocks of a tensor to f32, or through f32 to f16 or bf16. The caller has checked the number of
// bytes against the sizes, and that the type has an `unpack`.
Tensor unpack_gguf(const GgufType& type, std::string_view bytes, std::span<const std::int64_t> sizes,
                   DType dtype);

}  // namespace pel::io
