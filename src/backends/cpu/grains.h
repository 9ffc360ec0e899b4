// Units of Grain::of, 2 to 3 µs each.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"

namespace pel::cpu {

inline constexpr std::int64_t kCopyGrainBytes = 32 << 10;  // that are copied
inline constexpr std::int64_t kGrainElements = 1 << 12;    // that take some arithmetic each
inline constexpr std::int64_t kGrainFlops = 250'000;       // of small GEMMs
inline constexpr std::int64_t kGrainNs = 2'500;

}  // namespace pel::cpu
