// Non-temporal stores, and prefetches.
#pragma once

#include <cstdint>

namespace pel::cpu {

// A result of this many bytes or more is stored with non-temporal stores.
inline constexpr std::int64_t kStreamBytes = std::int64_t{16} << 20;

// Copies to memory that is not read soon. stream_fence() makes it visible to other threads.
void stream_copy(char* to, const char* from, std::int64_t bytes);
void stream_fence();

// Prefetches bytes; the address need not be valid.
inline void fetch(const char* from, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(from + b);
}
// Prefetch distance of a contiguous loop in bytes: the hardware prefetcher stops at page boundaries.
inline constexpr std::int64_t kFetchAhead = 4096;

}  // namespace pel::cpu
