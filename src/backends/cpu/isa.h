// The instruction set that kernels use: the best of the processor, or the one that PELLUCID_ISA selects.
#pragma once

#include <optional>

#include "codegen/isa.h"

namespace pel::cpu {

// Returns none if a processor of x86-64 lacks AVX2 with FMA, F16C and BMI2.
std::optional<codegen::Isa> best_isa();

// Returns best_isa(), or an older one that PELLUCID_ISA (avx2, avx512, amx) names. Decided once. AMX
// complements AVX-512 (amx.h).
std::optional<codegen::Isa> active_isa();

}  // namespace pel::cpu
