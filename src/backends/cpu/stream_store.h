// Stores past the caches.
#pragma once

#include <cstdint>

namespace pel::cpu {

// A result of this many bytes or more is streamed out.
inline constexpr std::int64_t kStreamBytes = std::int64_t{16} << 20;

// Copies to memory that is not read soon. stream_fence() makes it visible to other threads.
void stream_copy(char* to, const char* from, std::int64_t bytes);
void stream_fence();

}  // namespace pel::cpu
