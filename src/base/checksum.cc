// XXH64 as its specification has it: four sums over 32 bytes at a time, then the rest. 10 GB/s and more.
#include "base/checksum.h"

#include <bit>
#include <cstddef>

namespace pel {
namespace {

constexpr std::uint64_t kPrimes[] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                     0x85ebca77c2b2ae63, 0x27d4eb2f165667c5};

template <class T>
std::uint64_t take(std::string_view& bytes) {
  T number;
  bytes.copy(reinterpret_cast<char*>(&number), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return number;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum + word * kPrimes[1], 31) * kPrimes[0];
}

}  // namespace

std::uint64_t checksum(std::string_view bytes) {
  const std::uint64_t size = bytes.size();
  std::uint64_t hash = kPrimes[4];
  if (size >= 32) {
    std::uint64_t sums[] = {kPrimes[0] + kPrimes[1], kPrimes[1], 0, 0 - kPrimes[0]};
    while (bytes.size() >= 32)
      for (std::uint64_t& sum : sums) sum = mixed(sum, take<std::uint64_t>(bytes));
    hash = std::rotl(sums[0], 1) + std::rotl(sums[1], 7) + std::rotl(sums[2], 12) + std::rotl(sums[3], 18);
    for (const std::uint64_t sum : sums) hash = (hash ^ mixed(0, sum)) * kPrimes[0] + kPrimes[3];
  }
  hash += size;
  while (bytes.size() >= 8)
    hash = std::rotl(hash ^ mixed(0, take<std::uint64_t>(bytes)), 27) * kPrimes[0] + kPrimes[3];
  if (bytes.size() >= 4)
    hash = std::rotl(hash ^ take<std::uint32_t>(bytes) * kPrimes[0], 23) * kPrimes[1] + kPrimes[2];
  while (!bytes.empty()) hash = std::rotl(hash ^ take<std::uint8_t>(bytes) * kPrimes[4], 11) * kPrimes[0];
  hash = (hash ^ hash >> 33) * kPrimes[1];
  hash = (hash ^ hash >> 29) * kPrimes[2];
  return hash ^ hash >> 32;
}

}  // namespace pel
