// Channels-last pooling, eight channels at a time in the lanes of a vector.
#pragma once

#include <cstddef>

#include <immintrin.h>

#include "backends/cpu/convolution/pool.h"

namespace pel::cpu {

// Means of adaptive pooling may cover many elements: eight partial sums, element i goes to sum i % 8.
inline constexpr int kSums = 8;
template <class V>
V folded(const V (&s)[kSums]) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

__attribute__((target("avx2"), always_inline)) inline __m256 greater_or_nan(__m256 x, __m256 best) {
  return _mm256_or_ps(_mm256_cmp_ps(x, best, _CMP_GT_OQ), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

inline constexpr std::int64_t kPoolLanes = 8;

__attribute__((target("avx2"))) inline void store_positions(long long* to, __m256i at) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_cvtepi32_epi64(_mm256_castsi256_si128(at)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4),
                      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(at, 1)));
}

// Eight channels of a window, or four times as many at once.
struct Tap {
  std::int64_t offset, position;
};
using Taps = std::vector<Tap>;

struct MaxLanes {
  __m256 value;
  __m256i at;
  __attribute__((target("avx2"), always_inline)) void take(const float* x, __m256i position) {
    const __m256 other = _mm256_loadu_ps(x), takes = greater_or_nan(other, value);
    value = _mm256_blendv_ps(value, other, takes);
    at = _mm256_blendv_epi8(at, position, _mm256_castps_si256(takes));
  }
  __attribute__((target("avx2"), always_inline)) void store(float* to, long long* positions) const {
    _mm256_storeu_ps(to, value);
    store_positions(positions, at);
  }
};
__attribute__((target("avx2"))) inline void max_of_one(const float* x, const Taps& taps, std::int64_t first,
                                                       float* to, long long* positions) {
  MaxLanes a{_mm256_set1_ps(lowest<float>()), _mm256_set1_epi32(static_cast<int>(first))};
  for (const Tap& tap : taps) a.take(x + tap.offset, _mm256_set1_epi32(static_cast<int>(tap.position)));
  a.store(to, positions);
}
__attribute__((target("avx2"))) inline void max_of_four(const float* x, const Taps& taps, std::int64_t first,
                                                        float* to, long long* positions) {
  MaxLanes a{_mm256_set1_ps(lowest<float>()), _mm256_set1_epi32(static_cast<int>(first))}, b = a, c = a,
                                                                                           d = a;
  for (const Tap& tap : taps) {
    const float* const from = x + tap.offset;
    const __m256i position = _mm256_set1_epi32(static_cast<int>(tap.position));
    a.take(from, position);
    b.take(from + kPoolLanes, position);
    c.take(from + 2 * kPoolLanes, position);
    d.take(from + 3 * kPoolLanes, position);
  }
  a.store(to, positions);
  b.store(to + kPoolLanes, positions + kPoolLanes);
  c.store(to + 2 * kPoolLanes, positions + 2 * kPoolLanes);
  d.store(to + 3 * kPoolLanes, positions + 3 * kPoolLanes);
}
__attribute__((target("avx2"))) inline void mean_of_one(const float* x, const Taps& taps, float divisor,
                                                        float* to) {
  __m256 sum = _mm256_setzero_ps();
  for (const Tap& tap : taps) sum = _mm256_add_ps(sum, _mm256_loadu_ps(x + tap.offset));
  _mm256_storeu_ps(to, _mm256_div_ps(sum, _mm256_set1_ps(divisor)));
}
__attribute__((target("avx2"))) inline void mean_of_four(const float* x, const Taps& taps, float divisor,
                                                         float* to) {
  __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
  for (const Tap& tap : taps) {
    const float* const from = x + tap.offset;
    a = _mm256_add_ps(a, _mm256_loadu_ps(from));
    b = _mm256_add_ps(b, _mm256_loadu_ps(from + kPoolLanes));
    c = _mm256_add_ps(c, _mm256_loadu_ps(from + 2 * kPoolLanes));
    d = _mm256_add_ps(d, _mm256_loadu_ps(from + 3 * kPoolLanes));
  }
  const __m256 by = _mm256_set1_ps(divisor);
  _mm256_storeu_ps(to, _mm256_div_ps(a, by));
  _mm256_storeu_ps(to + kPoolLanes, _mm256_div_ps(b, by));
  _mm256_storeu_ps(to + 2 * kPoolLanes, _mm256_div_ps(c, by));
  _mm256_storeu_ps(to + 3 * kPoolLanes, _mm256_div_ps(d, by));
}
// Eight sums per channel, in the order of folded().
__attribute__((target("avx2"))) inline void mean_of_many(const float* x, const Taps& taps, float divisor,
                                                         float* to) {
  __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  std::size_t i = 0;
  const auto add = [&](__m256& sum, std::size_t k) __attribute__((target("avx2"), always_inline)) {
    sum = _mm256_add_ps(sum, _mm256_loadu_ps(x + taps[i + k].offset));
  };
  for (; i + kSums <= taps.size(); i += kSums) {
    add(s0, 0);
    add(s1, 1);
    add(s2, 2);
    add(s3, 3);
    add(s4, 4);
    add(s5, 5);
    add(s6, 6);
    add(s7, 7);
  }
  __m256* const rest[kSums - 1] = {&s0, &s1, &s2, &s3, &s4, &s5, &s6};
  for (std::size_t k = 0; i + k < taps.size(); ++k) add(*rest[k], k);
  const __m256 even = _mm256_add_ps(_mm256_add_ps(s0, s4), _mm256_add_ps(s2, s6)),
               odd = _mm256_add_ps(_mm256_add_ps(s1, s5), _mm256_add_ps(s3, s7));
  _mm256_storeu_ps(to, _mm256_div_ps(_mm256_add_ps(even, odd), _mm256_set1_ps(divisor)));
}

}  // namespace pel::cpu
