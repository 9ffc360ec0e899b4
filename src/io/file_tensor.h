// What the readers of all formats share: sizes out of a file, tensors over its memory, names in messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pellucid/tensor.h"

#include "io/mapped_file.h"

namespace pel::io {

inline constexpr std::size_t kMostAxes = 64;  // of a tensor

// Nothing if the product, not counting zeros, exceeds 2^56: bytes and strides then fit 63 bits.
std::optional<std::uint64_t> count_elements(std::span<const std::int64_t> sizes);

// A read-only tensor over the file's memory at `offset`, which it keeps alive. The caller has made sure that
// it ends inside.
Tensor tensor_over(const FileBytes& file, std::uint64_t offset, DType dtype,
                   std::span<const std::int64_t> sizes);

// A string out of a file, for a message: in quotes, without control characters, at most 80 bytes of it.
std::string in_quotes(std::string_view text);

}  // namespace pel::io
