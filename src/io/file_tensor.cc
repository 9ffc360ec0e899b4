#include "io/file_tensor.h"

#include <fmt/format.h>

namespace pel::io {

std::optional<std::uint64_t> count_elements(std::span<const std::int64_t> sizes) {
  constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 56;
  std::uint64_t product = 1;
  bool is_empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(size), &product) ||
               product > kMaxElements) {
      return std::nullopt;
    }
  }
  return is_empty ? 0 : product;
}

Tensor tensor_over(const FileBytes& file, std::uint64_t offset, DType dtype,
                   std::span<const std::int64_t> sizes) {
  External memory{.data = const_cast<char*>(file.bytes.data() + offset), .dtype = dtype, .read_only = true};
  memory.sizes.assign(sizes.begin(), sizes.end());
  if (file.owner) memory.deleter = [owner = file.owner](void*) {};
  return from_external(std::move(memory));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 80;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + (text.size() > kMaxShown ? "…\"" : "\"");
}

}  // namespace pel::io
