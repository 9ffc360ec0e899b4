// Sizes in units.
#pragma once

#include <cstdint>

namespace pel::cpu {

inline std::int64_t pieces(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }
inline std::int64_t round_up(std::int64_t value, std::int64_t unit) { return pieces(value, unit) * unit; }

}  // namespace pel::cpu
