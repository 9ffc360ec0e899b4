// The instruction set that kernels run with: the best of the processor, or what PELLUCID_ISA asks for.
#pragma once

#include <optional>

#include "codegen/isa.h"

namespace pel::cpu {

// None where the processor lacks even AVX2 with FMA, F16C and BMI2.
std::optional<codegen::Isa> best_isa();

// best_isa(), or a lesser one that PELLUCID_ISA (avx2, avx512, amx) names. Decided once. AMX stands beside
// AVX-512 (amx.h).
std::optional<codegen::Isa> active_isa();

}  // namespace pel::cpu
