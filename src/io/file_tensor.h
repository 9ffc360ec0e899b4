// Shared by the readers of all formats: sizes read from a file, tensors over its memory, quoting in messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pellucid/tensor.h"

#include "io/mapped_file.h"

namespace pel::io {

inline constexpr std::size_t kMaxAxes = 64;  // of a tensor

// Returns the number of elements, or nothing if the product, not counting zeros, exceeds 2^56: bytes and
// strides then fit 63 bits.
std::optional<std::uint64_t> count_elements(std::span<const std::int64_t> sizes);

// Returns a read-only tensor over the file's memory at `offset`, which it keeps alive. The caller has checked
// that it ends inside.
Tensor tensor_over(const FileBytes& file, std::uint64_t offset, DType dtype,
                   std::span<const std::int64_t> sizes);

// Quotes a string from a file for a message, without control characters and at most 80 bytes long.
std::string in_quotes(std::string_view text);

}  // namespace pel::io
