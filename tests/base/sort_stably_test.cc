#include "base/sort_stably.h"

#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace pel {
namespace {

TEST(SortStably, EqualValuesKeepTheirOrder) {
  std::mt19937 random(1);
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<std::pair<int, std::size_t>> values;
    for (std::size_t i = 0; i < count; ++i) values.emplace_back(static_cast<int>(random() % 5), i);
    auto wanted = values;
    std::sort(wanted.begin(), wanted.end());  // the second of a pair is its position
    sort_stably(values, [](const auto& a, const auto& b) { return a.first < b.first; });
    EXPECT_EQ(values, wanted) << count;
  }
}

}  // namespace
}  // namespace pel
