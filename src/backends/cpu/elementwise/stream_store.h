// Stores past the caches, and loads ahead of their use.
#pragma once

#include <cstdint>

namespace pel::cpu {

// A result of this many bytes or more is streamed out.
inline constexpr std::int64_t kStreamBytes = std::int64_t{16} << 20;

// Copies to memory that is not read soon. stream_fence() makes it visible to other threads.
void stream_copy(char* to, const char* from, std::int64_t bytes);
void stream_fence();

// Begins to read bytes that are needed soon; they need not exist.
inline void fetch(const char* from, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t b = 0; b < bytes; b += kLine) __builtin_prefetch(from + b);
}
// How far ahead of a loop over neighbours: the processor's own fetching stops at pages.
inline constexpr std::int64_t kFetchAhead = 4096;

}  // namespace pel::cpu
