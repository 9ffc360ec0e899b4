#include "base/compressed.h"

#include <random>

#include <gtest/gtest.h>

namespace pel {
namespace {

std::string random_bytes(std::size_t count, int values, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i)
    bytes += static_cast<char>(static_cast<int>(random() % static_cast<unsigned>(values)));
  return bytes;
}

void expect_same_after_both(const std::string& bytes) {
  EXPECT_EQ(decompressed(compressed(bytes), bytes.size()), bytes) << bytes.size() << " bytes";
}

TEST(Compressed, ReturnsWhatWasCompressed) {
  for (const std::size_t count : {0, 1, 2, 3, 7, 8, 261, 262, 263, 5000}) {
    for (const int values : {1, 2, 5, 256}) expect_same_after_both(random_bytes(count, values, 1));
  }
}

TEST(Compressed, FindsRepeatsAtAnyDistance) {
  const std::string block = random_bytes(3000, 256, 2);
  const std::string far = block + random_bytes(70'000, 256, 3) + block;
  EXPECT_LT(compressed(far).size(), far.size() - block.size() + 1000);
  expect_same_after_both(far);
  expect_same_after_both(block + block.substr(0, 100) + "x" + block.substr(101));
  EXPECT_LT(compressed(std::string(100'000, 'a')).size(), 1000u);
}

// Bytes of a file could be anything: no read and no write is outside the two arrays.
TEST(Compressed, RefusesWhatIsNotCompressed) {
  const std::string bytes = random_bytes(2000, 3, 4), packed = compressed(bytes);
  EXPECT_EQ(decompressed(packed, bytes.size() + 1), std::nullopt);
  EXPECT_EQ(decompressed(packed, bytes.size() - 1), std::nullopt);
  EXPECT_EQ(decompressed("", 0), std::nullopt);
  for (std::size_t size = 0; size < packed.size(); ++size)
    EXPECT_EQ(decompressed(packed.substr(0, size), bytes.size()), std::nullopt) << size;
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = packed;
    changed[random() % changed.size()] = static_cast<char>(random());
    const auto result = decompressed(changed, bytes.size());
    if (result) {
      EXPECT_EQ(result->size(), bytes.size()) << "change " << i;
    }
  }
}

}  // namespace
}  // namespace pel
