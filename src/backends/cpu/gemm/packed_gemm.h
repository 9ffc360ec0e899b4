// GEMMs whose right operands the user or the cache may have packed.
#pragma once

#include "backends/cpu/gemm/gemm_tiles.h"
#include "packing/packing.h"

namespace pel::cpu {

// The packed form of the right operand, if the user or the cache has packed it.
std::shared_ptr<const PackedForm> packed_form(const TileGemm& gemm);
// Runs with the packed forms, if there are any, and what it needs as scratch. Two sums of few rows whose
// operands are not packed are computed one after the other.
void run_packed_or_not(TileGemm gemm);
std::uint64_t kernel_scratch(const TileGemm& gemm);

}  // namespace pel::cpu
