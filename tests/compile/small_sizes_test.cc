// Sizes of 0 and 1, which make equal what symbols tell apart.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

TEST(SmallSizes, AnEmptyIndexIsAskedForNothingElse) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x, const Tensor& index) { return scatter_add(x.t(), 1, index, x); };
  const auto fast = compile(f);
  for (const auto& [rows, columns] : {std::pair(4, 6), std::pair(2, 0)}) {
    const Tensor x = randn({rows, columns}), index = zeros({rows, columns}, kI64);
    EXPECT_EQ(test::bytes_of(fast(x, index)), test::bytes_of(f(x, index)));
  }
}

TEST(SmallSizes, AxesOfOneElementMayMakeChannelsLast) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x) { return max_pool2d(x.permute({1, 2, 0}), {1}, {3}); };
  const auto fast = compile(f);
  for (const int columns : {1, 4}) {
    const Tensor x = randn({9, 3, columns});
    EXPECT_EQ(test::bytes_of(fast(x)), test::bytes_of(f(x))) << columns;
  }
}

}  // namespace
}  // namespace pel
