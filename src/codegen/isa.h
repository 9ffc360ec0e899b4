// Instruction sets that kernels are generated for. An instruction set is an entry of the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pel::codegen {

enum class Architecture : std::uint8_t { X86, Arm };
#if defined(__x86_64__)
inline constexpr Architecture kArchitecture = Architecture::X86;
#else
inline constexpr Architecture kArchitecture = Architecture::Arm;
#endif

enum class Isa : std::uint8_t { Avx2, Avx512, Neon };

struct IsaFacts {
  Isa isa;
  std::string_view name;
  Architecture architecture;
  const char* triple;     // for LLVM
  const char* processor;  // for LLVM: the oldest one with the instructions that the emitter requires
  int vector_bytes;       // may be several registers
  int vectors;            // that fit the registers
  bool has_masks;         // loads and stores of some lanes, for elements of any size
};
// Of one architecture the older first.
//   AVX2: with FMA, F16C, BMI2. AVX-512: F, CD, BW, DQ, VL.
//   NEON: the baseline of aarch64, which has fused multiply-adds and conversions of f16. A vector is two of
//   its 32 registers of 16 bytes, so that shuffles and tiles are those of AVX2. SVE would need a vector_bytes
//   that is known at run time only, or one entry for each length.
inline constexpr IsaFacts kIsas[] = {
    {Isa::Avx2, "avx2", Architecture::X86, "x86_64-unknown-linux-gnu", "haswell", 32, 16, false},
    {Isa::Avx512, "avx512", Architecture::X86, "x86_64-unknown-linux-gnu", "skylake-avx512", 64, 32, true},
    {Isa::Neon, "neon", Architecture::Arm, "aarch64-unknown-linux-gnu", "generic", 32, 16, false},
};
inline constexpr int kIsaCount = sizeof(kIsas) / sizeof(kIsas[0]);

constexpr const IsaFacts& facts(Isa isa) { return kIsas[static_cast<int>(isa)]; }
constexpr std::string_view name(Isa isa) { return facts(isa).name; }
constexpr int vector_bytes(Isa isa) { return facts(isa).vector_bytes; }

// Of this architecture.
constexpr std::optional<Isa> isa_named(std::string_view text) {
  for (const IsaFacts& each : kIsas)
    if (each.name == text && each.architecture == kArchitecture) return each.isa;
  return std::nullopt;
}

}  // namespace pel::codegen
