// Vectors of a fixed number of lanes for kernels that are written by hand: the same source and the same bits
// on every instruction set. x86-64 has eight f32 in a register of AVX2; aarch64 uses two registers.
//
// The operators + - * / & | ^ << >>, comparisons and ?: work on lanes. Nothing is fused (-ffp-contract=off);
// fma() is one operation. Functions that use vectors are marked PEL_LANES, those with vectors as arguments
// PEL_LANES_INLINE: their caller is marked, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#define PEL_LANES __attribute__((target("avx2,fma")))
#define PEL_LANES_LAMBDA __attribute__((target("avx2,fma"), always_inline))
#define PEL_LANES_INLINE __attribute__((target("avx2,fma"), always_inline)) inline
#else
#include <arm_neon.h>
#define PEL_LANES
#define PEL_LANES_LAMBDA __attribute__((always_inline))
#define PEL_LANES_INLINE __attribute__((always_inline)) inline
#endif

namespace pel::cpu {

template <std::size_t kBytes>
using UnsignedOf =
    std::conditional_t<kBytes == 1, std::uint8_t,
                       std::conditional_t<kBytes == 2, std::uint16_t,
                                          std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T, int kCount>
struct LanesOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * kCount)));
};
template <class T, int kCount>
using Lanes = typename LanesOf<T, kCount>::Type;
template <class V>
using ElementOf = std::remove_cvref_t<decltype(V{}[0])>;
using F32x4 = Lanes<float, 4>;
using F32x8 = Lanes<float, 8>;
using F64x4 = Lanes<double, 4>;
using I32x4 = Lanes<std::int32_t, 4>;
using I32x8 = Lanes<std::int32_t, 8>;

// Vectors of 16 bytes need no mark: every processor of the architecture has them.
template <class V>
concept IsWide = sizeof(V) > 16;

// Of memory with any alignment.
template <class V>
[[gnu::always_inline]] inline V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
  requires IsWide<V>
PEL_LANES_INLINE V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
[[gnu::always_inline]] inline void store(void* to, V v) {
  std::memcpy(to, &v, sizeof v);
}
template <class V>
  requires IsWide<V>
PEL_LANES_INLINE void store(void* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

// The same number in all lanes.
template <class V>
PEL_LANES_INLINE V all_lanes(ElementOf<V> x) {
  return x - V{};  // also of -0, which x + 0 would change
}

// x y + sum, rounded once.
PEL_LANES_INLINE F32x8 fma(F32x8 x, F32x8 y, F32x8 sum) {
#if defined(__x86_64__)
  return _mm256_fmadd_ps(x, y, sum);
#else
  F32x8 result;
  for (int half = 0; half < 2; ++half) {
    float32x4_t parts[3];
    const F32x8* const operands[3] = {&x, &y, &sum};
    for (int i = 0; i < 3; ++i) parts[i] = vld1q_f32(reinterpret_cast<const float*>(operands[i]) + 4 * half);
    vst1q_f32(reinterpret_cast<float*>(&result) + 4 * half, vfmaq_f32(parts[2], parts[0], parts[1]));
  }
  return result;
#endif
}

PEL_LANES_INLINE F64x4 fma(F64x4 x, F64x4 y, F64x4 sum) {
#if defined(__x86_64__)
  return _mm256_fmadd_pd(x, y, sum);
#else
  F64x4 result;
  for (int lane = 0; lane < 4; ++lane) result[lane] = __builtin_fma(x[lane], y[lane], sum[lane]);
  return result;
#endif
}

// Correctly rounded, as std::sqrt, which may set errno besides.
PEL_LANES_INLINE F32x8 square_root(F32x8 x) {
#if defined(__x86_64__)
  return _mm256_sqrt_ps(x);
#else
  F32x8 result;
  for (int half = 0; half < 2; ++half)
    vst1q_f32(reinterpret_cast<float*>(&result) + 4 * half,
              vsqrtq_f32(vld1q_f32(reinterpret_cast<const float*>(&x) + 4 * half)));
  return result;
#endif
}

using U64x4 = Lanes<std::uint64_t, 4>;
PEL_LANES_INLINE U64x4 product_of_lower_halves(U64x4 x, std::uint32_t y) {
#if defined(__x86_64__)
  return reinterpret_cast<U64x4>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(std::int64_t{y})));
#else
  return (x & 0xffffffffu) * y;
#endif
}

// The lower halves of numbers that fit into 16 bits.
[[gnu::always_inline]] inline Lanes<std::int16_t, 8> narrowed(I32x4 low, I32x4 high) {
#if defined(__x86_64__)
  return reinterpret_cast<Lanes<std::int16_t, 8>>(
      _mm_packs_epi32(reinterpret_cast<__m128i>(low), reinterpret_cast<__m128i>(high)));
#else
  return vcombine_s16(vmovn_s32(low), vmovn_s32(high));
#endif
}

// Bit i is the sign of lane i.
[[gnu::always_inline]] inline std::uint32_t bits_of(I32x4 lanes) {
#if defined(__x86_64__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(reinterpret_cast<__m128>(lanes)));
#else
  return vaddvq_u32(vshlq_u32(vshrq_n_u32(reinterpret_cast<uint32x4_t>(lanes), 31), int32x4_t{0, 1, 2, 3}));
#endif
}

// The even elements of two vectors that follow each other.
template <class V>
PEL_LANES_INLINE V even_lanes(V low, V high) {
  if constexpr (sizeof(V) / sizeof(low[0]) == 8) {
    return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
  } else {
    return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  }
}

}  // namespace pel::cpu
