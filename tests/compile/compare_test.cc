// compare: what it counts, and that it finds other bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

std::vector<Tensor> gated(ArrayView<Tensor> in) { return {gelu(in[0]) * in[1]}; }
std::vector<std::vector<Tensor>> calls_of(std::initializer_list<std::int64_t> rows) {
  std::vector<std::vector<Tensor>> calls;
  for (const std::int64_t n : rows) calls.push_back({randn({n, 48}), randn({n, 48})});
  return calls;
}

TEST(Compare, CountsKernelsBytesAndCompiles) {
  const Comparison c = compare_calls(gated, calls_of({8, 16}),
                                     [](ArrayView<Tensor> in) { return std::vector{geglu(in[0], in[1])}; });
  ASSERT_EQ(c.ways.size(), 3U);
  constexpr std::uint64_t kBytes = 16 * 48 * 4;
  for (const auto& [way, kernels, compiles] :
       {std::tuple{c.ways[0], 2U, 0U}, {c.ways[1], 1U, 1U}, {c.ways[2], 1U, 0U}}) {
    SCOPED_TRACE(way.name);
    EXPECT_EQ(way.kernels, kernels);
    EXPECT_EQ(way.bytes_read, (kernels + 1) * kBytes);
    EXPECT_EQ(way.bytes_written, kernels * kBytes);
    EXPECT_EQ(way.compiles, compiles);
    EXPECT_TRUE(way.has_bits_of_eager);
    EXPECT_GT(way.call_ns, 0);
    EXPECT_GT(way.first_call_ns, 0);
  }
  EXPECT_THAT(c.text(), testing::HasSubstr("2 calls with arguments of their own"));
}

TEST(Compare, SaysWhichWayHasOtherBits) {
  const Comparison c = compare_calls(gated, calls_of({4}), [](ArrayView<Tensor> in) {
    return std::vector{geglu(in[0], in[1], GeluApproximate::Tanh)};
  });
  EXPECT_TRUE(c.ways[1].has_bits_of_eager);
  EXPECT_FALSE(c.ways[2].has_bits_of_eager);
  EXPECT_THAT(c.text(), testing::HasSubstr("differ"));
}

TEST(Compare, TakesAFunctionOfTensors) {
  const Tensor a = randn({5, 7}), b = randn({5, 7});
  const Comparison c = compare([](const Tensor& x, const Tensor& y) { return relu(x + y); }, a, b);
  ASSERT_EQ(c.ways.size(), 2U);
  EXPECT_EQ(c.ways[0].kernels, 2U);
  EXPECT_EQ(c.ways[1].kernels, 1U);
}

}  // namespace
}  // namespace pel
