// The cache of compiled kernels on disk. No failure in it is an error: kernels that are not found are
// compiled, and PELLUCID_LOG=cache says why.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/code_image.h"
#include "codegen/llvm/digest.h"

namespace pel::codegen {

// `key` is a digest of all that the code depends on.
std::optional<CodeImage> find_cached(const Digest& key);
void store_cached(const Digest& key, const CodeImage& image);

// The same for kernels that the driver of a device has built. `content` is all that they depend on.
struct CachedBinary {
  std::vector<std::string> kernels;  // their names
  std::string bytes;                 // as the driver wrote them
};
std::optional<CachedBinary> find_cached_binary(std::string_view content);
void store_cached_binary(std::string_view content, const CachedBinary& binary);

}  // namespace pel::codegen
