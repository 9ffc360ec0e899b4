// Sizes of 0 and 1, which make equal what symbols tell apart.
#include <functional>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/equal_bits.h"

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

// An axis of one element orders others: the first operand says that axis 0 runs faster than it, the second
// that axis 2 runs slower. Its strides in an input may be any.
TEST(SmallSizes, StridesOfAxesOfOneElementDecideTheOrderOfOthersAsInPyTorch) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x) { return maximum(x.permute({2, 0, 1}), x); };
  const auto fast = compile(f);
  const Tensor row_major = randn({1, 1, 8}), other = randn({1, 8, 1}).transpose(1, 2);
  EXPECT_EQ(to_string(f(row_major).strides()), "[8, 64, 1]");
  EXPECT_EQ(to_string(f(other).strides()), "[1, 64, 8]");
  for (const Tensor& x : {row_major, other}) EXPECT_TRUE(test::equal_bits_and_strides(fast(x), f(x)));
}

TEST(SmallSizes, ACopyThatIsAViewWhereAnAxisHasOneElementIsOne) {
  const NoGrad no_grad;
  const std::function<Tensor(const Tensor&)> copies[] = {[](const Tensor& x) { return x.t().contiguous(); },
                                                         [](const Tensor& x) { return x.t().reshape({-1}); }};
  for (const auto& copy : copies) {
    const std::function<Tensor(const Tensor&)> functions[] = {
        [&](const Tensor& x) {
          const Tensor y = copy(x);
          add_(x, 1);
          return y * 2;
        },
        [&](const Tensor& x) { return mul_(copy(x), 3); }, [&](const Tensor& x) { return copy(x) + 1; }};
    for (const auto& f : functions) {
      const auto fast = compile(f);
      for (const auto& [rows, columns] : {std::pair(1, 5), {4, 7}, {5, 1}, {3, 2}, {1, 1}}) {
        const Tensor x = randn({rows, columns}), same = x.clone();
        EXPECT_TRUE(test::equal_bits(fast(x), f(same))) << rows << " x " << columns;
        EXPECT_TRUE(test::equal_bits(x, same)) << rows << " x " << columns;
      }
      EXPECT_EQ(fast.compiles() == 1, &f == &functions[2]);
    }
  }
}

TEST(SmallSizes, NoElementsAreRefusedAsWithoutCompile) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x) {
    amin(x, {0});  // nobody reads it
    return x + 1;
  };
  const auto fast = compile(f);
  EXPECT_TRUE(test::equal_bits(fast(ones({3, 2})), f(ones({3, 2}))));
  EXPECT_THROW(f(ones({0, 2})), IndexError);
  EXPECT_THROW(fast(ones({0, 2})), IndexError);
}

// Where a middle axis orders two others that no operand has both of, whether it has one element is asked.
TEST(SmallSizes, AnAxisThatOrdersOthersIsAskedWhetherItHasOneElement) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x, const Tensor& y) {  // in x axis 0 runs faster than 1, in y 1 than 2
    return add(x.permute({2, 1, 0}), y.permute({1, 2, 0}));
  };
  const auto fast = compile(f);
  for (const int middle : {3, 1, 5}) {
    const Tensor x = randn({1, middle, 4}), y = randn({6, 1, middle});
    const Tensor wanted = f(x, y), given = fast(x, y);
    EXPECT_EQ(to_string(given.strides()), to_string(wanted.strides())) << middle;
    EXPECT_EQ(test::bytes_of(given), test::bytes_of(wanted)) << middle;
  }
}

TEST(SmallSizes, AStepThatLeavesOneElementOrdersNoAxes) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x, const Tensor& y) {
    return relu(y.t().slice(0, std::nullopt, std::nullopt, x.size(0)));
  };
  const auto fast = compile(f);
  const Tensor y = randn({3, 4});
  for (const int step : {8, 1, 2, 3, 5}) {
    const Tensor x = zeros({step}), wanted = f(x, y), given = fast(x, y);
    EXPECT_TRUE(test::equal_bits(given, wanted)) << step;
    EXPECT_TRUE(step > 3 || test::equal_bits_and_strides(given, wanted)) << step;
  }
}

TEST(SmallSizes, OnePixelIsChannelsLastWhereItsStridesAre) {
  const NoGrad no_grad;
  const auto f = [](const Tensor& x) { return adaptive_avg_pool1d(x.t(), {2}); };
  const auto fast = compile(f);
  for (const int pixels : {1, 3}) {
    const Tensor x = randn({pixels, 5});
    EXPECT_TRUE(test::equal_bits_and_strides(fast(x), f(x))) << pixels;
  }
  EXPECT_EQ(fast.compiles(), 1u);
}

}  // namespace
}  // namespace pel
