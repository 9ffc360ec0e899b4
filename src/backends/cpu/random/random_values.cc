#include "backends/cpu/random/random_values.h"

#include <cstring>

#include "backends/cpu/isa.h"
#include "backends/cpu/lanes.h"

namespace pel::cpu {
namespace {

// Each of `kSets` sets has four blocks, one per 64-bit lane. The upper half of a lane is arbitrary: the
// multiplication reads the lower one. Several sets hide its latency.
constexpr std::int64_t kSets = 2, kStep = 4 * kSets;

PEL_LANES std::int64_t philox_vectors(std::uint32_t* to, const PhiloxStream& stream, std::uint64_t first,
                                      std::int64_t blocks) {
  const U64x4 low_half = all_lanes<U64x4>(0xffffffffu);
  std::int64_t b = 0;
  for (; b + kStep <= blocks; b += kStep) {
    U64x4 c0[kSets], c1[kSets], c2[kSets], c3[kSets];
    for (std::int64_t s = 0; s < kSets; ++s) {
      const U64x4 block = first + static_cast<std::uint64_t>(b + 4 * s) + U64x4{0, 1, 2, 3};
      c0[s] = block;
      c1[s] = block >> 32;
      c2[s] = all_lanes<U64x4>(stream.offset & 0xffffffff);
      c3[s] = all_lanes<U64x4>(stream.offset >> 32);
    }
    auto key0 = static_cast<std::uint32_t>(stream.seed), key1 = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      for (std::int64_t s = 0; s < kSets; ++s) {
        const U64x4 p0 = product_of_lower_halves(c0[s], kPhiloxMultipliers[0]),
                    p1 = product_of_lower_halves(c2[s], kPhiloxMultipliers[1]);
        c0[s] = (p1 >> 32) ^ c1[s] ^ std::uint64_t{key0};
        c2[s] = (p0 >> 32) ^ c3[s] ^ std::uint64_t{key1};
        c1[s] = p1;
        c3[s] = p0;
      }
      key0 += kPhiloxKeySteps[0];
      key1 += kPhiloxKeySteps[1];
    }
    for (std::int64_t s = 0; s < kSets; ++s) {
      const U64x4 c01 = (c0[s] & low_half) | (c1[s] << 32), c23 = (c2[s] & low_half) | (c3[s] << 32);
      store(to + 4 * (b + 4 * s), __builtin_shufflevector(c01, c23, 0, 4, 1, 5));
      store(to + 4 * (b + 4 * s) + 8, __builtin_shufflevector(c01, c23, 2, 6, 3, 7));
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
