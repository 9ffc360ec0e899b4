// Philox 4x32-10: 128 random bits for each counter and key, without any state (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <array>
#include <cstdint>

namespace pel {

// One stream of numbers. Block `b` of it is philox(stream, b): streams of one seed never meet.
struct PhiloxStream {
  std::uint64_t seed;
  std::uint64_t offset;
};

inline constexpr std::uint32_t kPhiloxMultipliers[2] = {0xd2511f53u, 0xcd9e8d57u};
inline constexpr std::uint32_t kPhiloxKeySteps[2] = {0x9e3779b9u, 0xbb67ae85u};
inline constexpr int kPhiloxRounds = 10;

constexpr std::array<std::uint32_t, 4> philox(const PhiloxStream& stream, std::uint64_t block) {
  std::array<std::uint32_t, 4> c = {
      static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
      static_cast<std::uint32_t>(stream.offset), static_cast<std::uint32_t>(stream.offset >> 32)};
  auto key0 = static_cast<std::uint32_t>(stream.seed), key1 = static_cast<std::uint32_t>(stream.seed >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kPhiloxMultipliers[0]} * c[0];
    const std::uint64_t p1 = std::uint64_t{kPhiloxMultipliers[1]} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += kPhiloxKeySteps[0];
    key1 += kPhiloxKeySteps[1];
  }
  return c;
}

}  // namespace pel
