// Elements turned and put in pairs by AVX-512, for callers who know that it is there.
#pragma once

#include <cstdint>

namespace pel::cpu {

// Sixteen by sixteen elements of four bytes: those that are dense in `from` come to lie across.
void turn_wide_square(char* to, std::int64_t to_step, const char* from, std::int64_t from_step);

// For AMX: a block of bf16, of up to 32 rows and 32 k, whose rows lie side by side and whose k are `k_step`
// bytes apart, to 16 or 32 `lines` of 32 k. What is not there is zero.
void turn_to_lines(char* to, int lines, const char* from, std::int64_t k_step, std::int64_t rows,
                   std::int64_t depth);

// For AMX: two neighbouring k of columns of bf16, a multiple of 32, to panels that are `panel_bytes` apart.
// Of each, a row of the first register takes k beside k + 1 for sixteen columns, and the same row of the
// second for the other sixteen.
void pair_columns(char* to, std::int64_t panel_bytes, const char* even, const char* odd,
                  std::int64_t columns);

}  // namespace pel::cpu
