// Transposes and pairs elements with AVX-512, for callers that have checked for it.
#pragma once

#include <cstdint>

namespace pel::cpu {

// Transposes sixteen by sixteen 4-byte elements.
void transpose_wide_square(char* to, std::int64_t to_step, const char* from, std::int64_t from_step);

// For AMX: transposes a block of bf16, of up to 32 rows and 32 k, with contiguous rows and `k_step` bytes
// between two k, to 16 or 32 `lines` of 32 k. Missing elements are zero.
void transpose_to_lines(char* to, int lines, const char* from, std::int64_t k_step, std::int64_t rows,
                        std::int64_t depth);

// For AMX: interleaves two adjacent k of bf16 columns, a multiple of 32, into panels that are `panel_bytes`
// apart. In each panel, one row of the first register receives k next to k + 1 for sixteen columns, and the
// same row of the second register receives the other sixteen.
void pair_columns(char* to, std::int64_t panel_bytes, const char* even, const char* odd,
                  std::int64_t columns);

}  // namespace pel::cpu
