// Rounding of sizes to multiples.
#pragma once

#include <cstdint>

namespace pel::cpu {

inline std::int64_t ceil_div(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }
inline std::int64_t round_up(std::int64_t value, std::int64_t unit) { return ceil_div(value, unit) * unit; }

}  // namespace pel::cpu
