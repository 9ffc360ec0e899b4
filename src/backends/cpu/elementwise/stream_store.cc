#include "backends/cpu/elementwise/stream_store.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/lanes.h"

namespace pel::cpu {

#if defined(__x86_64__)

// 32-byte stores fill a line's write-combining buffer as well as 64-byte ones do.
PEL_LANES void stream_copy(char* to, const char* from, std::int64_t bytes) {
  const auto misaligned = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(to) & 63);
  const std::int64_t head = std::min(bytes, misaligned);
  std::memcpy(to, from, static_cast<std::size_t>(head));
  std::int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32), high);
  }
  std::memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
}

void stream_fence() { _mm_sfence(); }

#else

// memcpy of the C library knows the processor, and writes large blocks past the caches where that pays.
void stream_copy(char* to, const char* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void stream_fence() {}

#endif

}  // namespace pel::cpu
