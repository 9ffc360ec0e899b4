// BLAKE3, as LLVM has it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace pel::codegen {

using Digest = std::array<std::uint8_t, 32>;

Digest digest(std::string_view bytes);
// A message authentication code: only who has the key can compute it.
Digest keyed_digest(const Digest& key, std::string_view bytes);

}  // namespace pel::codegen
