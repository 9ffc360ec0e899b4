// Channels-last pooling, eight channels at a time in the lanes of a vector.
#pragma once

#include <cstddef>

#include "backends/cpu/convolution/pool.h"
#include "backends/cpu/lanes.h"

namespace pel::cpu {

// Means of adaptive pooling may cover many elements: eight partial sums, element i goes to sum i % 8.
inline constexpr int kSums = 8;
template <class V>
V folded(const V (&s)[kSums]) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

PEL_LANES_INLINE I32x8 greater_or_nan(F32x8 x, F32x8 best) { return (x > best) | (x != x); }

inline constexpr std::int64_t kPoolLanes = 8;

PEL_LANES_INLINE void store_positions(long long* to, I32x8 at) {
  using I64x4 = Lanes<long long, 4>;
  store(to, __builtin_convertvector(__builtin_shufflevector(at, at, 0, 1, 2, 3), I64x4));
  store(to + 4, __builtin_convertvector(__builtin_shufflevector(at, at, 4, 5, 6, 7), I64x4));
}

// Eight channels of a window, or four times as many at once.
struct Tap {
  std::int64_t offset, position;
};
using Taps = std::vector<Tap>;

struct MaxLanes {
  F32x8 value;
  I32x8 at;
  PEL_LANES_INLINE void take(const float* x, I32x8 position) {
    const auto other = load<F32x8>(x);
    const I32x8 takes = greater_or_nan(other, value);
    value = takes ? other : value;
    at = takes ? position : at;
  }
  PEL_LANES_INLINE void store_both(float* to, long long* positions) const {
    store(to, value);
    store_positions(positions, at);
  }
};
PEL_LANES inline void max_of_one(const float* x, const Taps& taps, std::int64_t first, float* to,
                                 long long* positions) {
  MaxLanes a{all_lanes<F32x8>(lowest<float>()), all_lanes<I32x8>(static_cast<int>(first))};
  for (const Tap& tap : taps) a.take(x + tap.offset, all_lanes<I32x8>(static_cast<int>(tap.position)));
  a.store_both(to, positions);
}
PEL_LANES inline void max_of_four(const float* x, const Taps& taps, std::int64_t first, float* to,
                                  long long* positions) {
  MaxLanes a{all_lanes<F32x8>(lowest<float>()), all_lanes<I32x8>(static_cast<int>(first))}, b = a, c = a,
                                                                                            d = a;
  for (const Tap& tap : taps) {
    const float* const from = x + tap.offset;
    const auto position = all_lanes<I32x8>(static_cast<int>(tap.position));
    a.take(from, position);
    b.take(from + kPoolLanes, position);
    c.take(from + 2 * kPoolLanes, position);
    d.take(from + 3 * kPoolLanes, position);
  }
  a.store_both(to, positions);
  b.store_both(to + kPoolLanes, positions + kPoolLanes);
  c.store_both(to + 2 * kPoolLanes, positions + 2 * kPoolLanes);
  d.store_both(to + 3 * kPoolLanes, positions + 3 * kPoolLanes);
}
PEL_LANES inline void mean_of_one(const float* x, const Taps& taps, float divisor, float* to) {
  F32x8 sum{};
  for (const Tap& tap : taps) sum = sum + load<F32x8>(x + tap.offset);
  store(to, sum / all_lanes<F32x8>(divisor));
}
PEL_LANES inline void mean_of_four(const float* x, const Taps& taps, float divisor, float* to) {
  F32x8 a{}, b = a, c = a, d = a;
  for (const Tap& tap : taps) {
    const float* const from = x + tap.offset;
    a = a + load<F32x8>(from);
    b = b + load<F32x8>(from + kPoolLanes);
    c = c + load<F32x8>(from + 2 * kPoolLanes);
    d = d + load<F32x8>(from + 3 * kPoolLanes);
  }
  const auto by = all_lanes<F32x8>(divisor);
  store(to, a / by);
  store(to + kPoolLanes, b / by);
  store(to + 2 * kPoolLanes, c / by);
  store(to + 3 * kPoolLanes, d / by);
}
// Eight sums per channel, in the order of folded().
PEL_LANES inline void mean_of_many(const float* x, const Taps& taps, float divisor, float* to) {
  F32x8 s0{}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  std::size_t i = 0;
  const auto add = [&](F32x8& sum, std::size_t k)
                       PEL_LANES_LAMBDA { sum = sum + load<F32x8>(x + taps[i + k].offset); };
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
  F32x8* const rest[kSums - 1] = {&s0, &s1, &s2, &s3, &s4, &s5, &s6};
  for (std::size_t k = 0; i + k < taps.size(); ++k) add(*rest[k], k);
  const F32x8 even = (s0 + s4) + (s2 + s6), odd = (s1 + s5) + (s3 + s7);
  store(to, (even + odd) / all_lanes<F32x8>(divisor));
}

}  // namespace pel::cpu
