// From random bits to numbers. Plain arithmetic in one order, without the C library's functions: every
// processor produces the same bits.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "backends/cpu/lanes.h"
#include "base/philox.h"

namespace pel::cpu {

// Writes the words of `blocks` blocks from `first` on, four per block.
void philox_words(std::uint32_t* to, const PhiloxStream& stream, std::uint64_t first, std::int64_t blocks);

// f32 uses one word of random bits, f64 two.
template <class C>
struct RandomReal;

template <>
struct RandomReal<float> {
  using Bits = std::uint32_t;
  static constexpr int kWidth = 32;
  static constexpr int kPrecision = 24;
  // The bits of sqrt(1/2): [sqrt(1/2), sqrt(2)) is the reduced range of a logarithm's argument.
  static constexpr Bits kRootHalf = 0x3f3504f3u;
  static constexpr int kMantissa = 23;
  static constexpr std::array<float, 5> kLog = {2.0f, 2.0f / 3, 2.0f / 5, 2.0f / 7, 2.0f / 9};
  static constexpr std::array<float, 4> kSin = {-1.0f / 6, 1.0f / 120, -1.0f / 5040, 1.0f / 362880};
  static constexpr std::array<float, 5> kCos = {-0.5f, 1.0f / 24, -1.0f / 720, 1.0f / 40320, -1.0f / 3628800};
};

template <>
struct RandomReal<double> {
  using Bits = std::uint64_t;
  static constexpr int kWidth = 64;
  static constexpr int kPrecision = 53;
  static constexpr Bits kRootHalf = 0x3fe6a09e667f3bcdu;
  static constexpr int kMantissa = 52;
  static constexpr std::array<double, 11> kLog = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9, 2.0 / 11,
                                                  2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
  static constexpr std::array<double, 8> kSin = {
      -1.0 / 6,        1.0 / 120,        -1.0 / 5040,         1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368e3, 1.0 / 355687428096e3};
  static constexpr std::array<double, 9> kCos = {-0.5,
                                                 1.0 / 24,
                                                 -1.0 / 720,
                                                 1.0 / 40320,
                                                 -1.0 / 3628800,
                                                 1.0 / 479001600,
                                                 -1.0 / 87178291200,
                                                 1.0 / 20922789888e3,
                                                 -1.0 / 6402373705728e3};
};

// Unrolled here: an inner loop would prevent the compiler from vectorizing the outer one.
template <std::size_t K = 0, class C, std::size_t N>
[[gnu::always_inline]] inline C horner(C x, const std::array<C, N>& coefficients) {
  if constexpr (K + 1 == N) {
    return coefficients[K];
  } else {
    return horner<K + 1>(x, coefficients) * x + coefficients[K];
  }
}

// Returns a value in [0, 1), a multiple of 2^-digits.
template <class C>
[[gnu::always_inline]] inline C uniform_value(typename RandomReal<C>::Bits bits, int digits) {
  using R = RandomReal<C>;
  using Signed = std::make_signed_t<typename R::Bits>;  // converting from it is one instruction
  const C unit = C(1) / static_cast<C>(typename R::Bits(1) << digits);
  return static_cast<C>(static_cast<Signed>(bits >> (R::kWidth - digits))) * unit;
}

// Returns -log(u), u = (bits + 1/2) / 2^width rounded. Never negative; 0 only if u rounds to 1.
template <class C>
[[gnu::always_inline]] inline C minus_log(typename RandomReal<C>::Bits bits) {
  using R = RandomReal<C>;
  using Bits = typename R::Bits;
  using Signed = std::make_signed_t<Bits>;
  constexpr int kHalf = R::kWidth / 2;
  constexpr C kUnit = C(1) / (static_cast<C>(Bits(1) << kHalf) * static_cast<C>(Bits(1) << kHalf));
  const auto high = static_cast<C>(static_cast<Signed>(bits >> kHalf));
  const auto low = static_cast<C>(static_cast<Signed>(bits & ((Bits(1) << kHalf) - 1)));
  const C u = (high * static_cast<C>(Bits(1) << kHalf) + low + C(0.5)) * kUnit;
  // u = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)).
  const Bits from_root = std::bit_cast<Bits>(u) - R::kRootHalf;
  const auto e = static_cast<C>(static_cast<Signed>(from_root) >> R::kMantissa);
  const auto m = std::bit_cast<C>((from_root & ((Bits(1) << R::kMantissa) - 1)) + R::kRootHalf);
  const C s = (m - 1) / (m + 1);
  return -(e * static_cast<C>(0.69314718055994530942) + s * horner(s * s, R::kLog));
}

// Computes the cosine and sine of bits / 2^width full revolutions.
template <class C>
[[gnu::always_inline]] inline void cosine_sine(typename RandomReal<C>::Bits bits, C& cosine, C& sine) {
  using R = RandomReal<C>;
  using Bits = typename R::Bits;
  using Signed = std::make_signed_t<Bits>;
  // Quarter revolutions, and the remainder t in [-pi / 4, pi / 4).
  const Bits quarter = (bits + (Bits(1) << (R::kWidth - 3))) >> (R::kWidth - 2);
  const auto rest = static_cast<Signed>(bits - (quarter << (R::kWidth - 2)));
  constexpr C kUnit = static_cast<C>(1.57079632679489661923) / static_cast<C>(Bits(1) << (R::kWidth - 2));
  const C t = static_cast<C>(rest) * kUnit, t2 = t * t;
  const C up = t + t * t2 * horner(t2, R::kSin), across = 1 + t2 * horner(t2, R::kCos);
  const bool swapped = (quarter & 1) != 0;
  const C x = swapped ? up : across, y = swapped ? across : up;
  cosine = ((quarter + 1) & 2) != 0 ? -x : x;
  sine = (quarter & 2) != 0 ? -y : y;
}

// Takes square roots in place, with the instruction: std::sqrt also sets errno, which prevents vectorization.
// `count` is a multiple of 4.
#if defined(__x86_64__)
inline void sqrt_all(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 4)
    _mm_storeu_ps(values + i, _mm_sqrt_ps(_mm_loadu_ps(values + i)));
}
inline void sqrt_all(double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 2)
    _mm_storeu_pd(values + i, _mm_sqrt_pd(_mm_loadu_pd(values + i)));
}
#else
inline void sqrt_all(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 4) vst1q_f32(values + i, vsqrtq_f32(vld1q_f32(values + i)));
}
inline void sqrt_all(double* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 2) vst1q_f64(values + i, vsqrtq_f64(vld1q_f64(values + i)));
}
#endif

// Returns a value in [0, range), the upper half of a product: the bias is below range / 2^64.
inline std::uint64_t below(std::uint64_t range, std::uint64_t bits) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Product>(bits) * range >> 64);
}

inline std::uint64_t word64(const std::uint32_t* words) { return std::uint64_t{words[1]} << 32 | words[0]; }

}  // namespace pel::cpu
