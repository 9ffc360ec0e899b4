// The faster of two plain loops for out = a + b, with regular and with non-temporal stores.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include <immintrin.h>
#include <sys/mman.h>

#include "server.h"

namespace bench {

struct TriadArrays {
  explicit TriadArrays(std::int64_t count)
      : out(make(count, 0)), a(make(count, 1.5f)), b(make(count, 2.5f)) {}

  // On huge pages, like the allocator of the other side.
  static float* make(std::int64_t count, float value) {
    constexpr std::size_t kHuge = 2 << 20;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    auto* data = static_cast<float*>(std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge));
    madvise(data, bytes, MADV_HUGEPAGE);
    for (std::int64_t i = 0; i < count; ++i) data[i] = value;
    return data;
  }

  float *out, *a, *b;
};
using TriadLoop = void (*)(const TriadArrays&, std::int64_t begin, std::int64_t end);

__attribute__((target("avx512f"))) inline void with_stores(const TriadArrays& in, std::int64_t begin,
                                                           std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 16)
    _mm512_store_ps(in.out + i, _mm512_add_ps(_mm512_load_ps(in.a + i), _mm512_load_ps(in.b + i)));
}
__attribute__((target("avx512f"))) inline void with_streaming_stores(const TriadArrays& in,
                                                                     std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; i += 16)
    _mm512_stream_ps(in.out + i, _mm512_add_ps(_mm512_load_ps(in.a + i), _mm512_load_ps(in.b + i)));
  _mm_sfence();
}

// A thread takes 30 us to start, a loop a millisecond and more.
inline void run_triad(TriadLoop loop, const TriadArrays& in, std::int64_t count, int threads) {
  if (threads == 1) return loop(in, 0, count);
  const std::int64_t half = count / 32 * 16;
  std::thread other(loop, std::cref(in), half, count);
  loop(in, 0, half);
  other.join();
}

// `arrays` returns TriadArrays of at least `count`, a multiple of 16: the case moves 12 bytes per element.
template <class Arrays>
Case triad_case(const std::string& name, Arrays arrays, std::int64_t count, int threads) {
  Case added(name, [=] { run_triad(with_streaming_stores, arrays(), count, threads); });
  added.measure = [=, streaming = added.repeat](std::int64_t iters) {
    const auto cached = [&](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) run_triad(with_stores, arrays(), count, threads);
    };
    return std::min(detail::nanoseconds_of(cached, iters), detail::nanoseconds_of(streaming, iters));
  };
  return added;
}

}  // namespace bench
