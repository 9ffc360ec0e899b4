#include "backends/cpu/random/random_values.h"

#include <cstring>

#include <immintrin.h>

#include "backends/cpu/isa.h"

namespace pel::cpu {
namespace {

// Each of `kSets` sets has four blocks, one per 64-bit lane. The upper half of a lane is arbitrary: the
// multiplication reads the lower one. Several sets hide its latency.
constexpr std::int64_t kSets = 2, kStep = 4 * kSets;

__attribute__((target("avx2"))) std::int64_t philox_vectors(std::uint32_t* to, const PhiloxStream& stream,
                                                            std::uint64_t first, std::int64_t blocks) {
  const __m256i low_half = _mm256_set1_epi64x(0xffffffff);
  const __m256i multiplier0 = _mm256_set1_epi64x(kPhiloxMultipliers[0]),
                multiplier1 = _mm256_set1_epi64x(kPhiloxMultipliers[1]);
  const __m256i offset_low = _mm256_set1_epi64x(static_cast<std::uint32_t>(stream.offset)),
                offset_high = _mm256_set1_epi64x(static_cast<std::int64_t>(stream.offset >> 32));
  std::int64_t b = 0;
  for (; b + kStep <= blocks; b += kStep) {
    __m256i c0[kSets], c1[kSets], c2[kSets], c3[kSets];
    for (std::int64_t s = 0; s < kSets; ++s) {
      const auto at = static_cast<std::int64_t>(first) + b + 4 * s;
      const __m256i block = _mm256_add_epi64(_mm256_set1_epi64x(at), _mm256_setr_epi64x(0, 1, 2, 3));
      c0[s] = block;
      c1[s] = _mm256_srli_epi64(block, 32);
      c2[s] = offset_low;
      c3[s] = offset_high;
    }
    auto key0 = static_cast<std::uint32_t>(stream.seed), key1 = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const __m256i k0 = _mm256_set1_epi64x(key0), k1 = _mm256_set1_epi64x(key1);
      for (std::int64_t s = 0; s < kSets; ++s) {
        const __m256i p0 = _mm256_mul_epu32(c0[s], multiplier0), p1 = _mm256_mul_epu32(c2[s], multiplier1);
        c0[s] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1[s]), k0);
        c2[s] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3[s]), k1);
        c1[s] = p1;
        c3[s] = p0;
      }
      key0 += kPhiloxKeySteps[0];
      key1 += kPhiloxKeySteps[1];
    }
    for (std::int64_t s = 0; s < kSets; ++s) {
      const __m256i c01 = _mm256_or_si256(_mm256_and_si256(c0[s], low_half), _mm256_slli_epi64(c1[s], 32));
      const __m256i c23 = _mm256_or_si256(_mm256_and_si256(c2[s], low_half), _mm256_slli_epi64(c3[s], 32));
      const __m256i even = _mm256_unpacklo_epi64(c01, c23), odd = _mm256_unpackhi_epi64(c01, c23);
      auto* dst = reinterpret_cast<__m256i*>(to + 4 * (b + 4 * s));
      _mm256_storeu_si256(dst, _mm256_permute2x128_si256(even, odd, 0x20));
      _mm256_storeu_si256(dst + 1, _mm256_permute2x128_si256(even, odd, 0x31));
    }
  }
  return b;
}

}  // namespace

void philox_words(std::uint32_t* to, const PhiloxStream& stream, std::uint64_t first, std::int64_t blocks) {
  static const bool has_vectors = best_isa().has_value();
  std::int64_t b = has_vectors ? philox_vectors(to, stream, first, blocks) : 0;
  for (; b < blocks; ++b) {
    const auto words = philox(stream, first + static_cast<std::uint64_t>(b));
    std::memcpy(to + 4 * b, words.data(), sizeof words);
  }
}

}  // namespace pel::cpu
