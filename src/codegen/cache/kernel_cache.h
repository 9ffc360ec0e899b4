// The cache of compiled kernels on disk. No failure in it is an error: kernels that are not found are
// compiled, and PELLUCID_LOG=cache says why.
#pragma once

#include <optional>

#include "codegen/code_image.h"
#include "codegen/llvm/digest.h"

namespace pel::codegen {

// `key` is a digest of all that the code depends on.
std::optional<CodeImage> find_cached(const Digest& key);
void store_cached(const Digest& key, const CodeImage& image);

}  // namespace pel::codegen
