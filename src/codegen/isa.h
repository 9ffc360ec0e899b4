// Instruction sets that kernels are generated for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pel::codegen {

enum class Isa : std::uint8_t { Avx2, Avx512 };
inline constexpr int kIsaCount = 2;

constexpr std::string_view name(Isa isa) { return isa == Isa::Avx2 ? "avx2" : "avx512"; }
constexpr std::optional<Isa> isa_named(std::string_view text) {
  for (const Isa isa : {Isa::Avx2, Isa::Avx512})
    if (name(isa) == text) return isa;
  return std::nullopt;
}
constexpr int vector_bytes(Isa isa) { return isa == Isa::Avx2 ? 32 : 64; }

}  // namespace pel::codegen
