// Expectations: what they count, and what they say when they do not hold.
#include <string>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/errors.h"

namespace pel {
namespace {

template <class E>
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct Mlp {
  Tensor x = ones({8, 16}), gate = ones({32, 16}), up = ones({32, 16}), down = ones({16, 32});
  void operator()() const { linear(mul(gelu(linear(x, gate)), linear(x, up)), down); }
};

TEST(Expect, PassesIfCountsMatch) {
  const Mlp mlp;
  expect_kernels(5, mlp);
  expect("kernels == 5; gemm == 3; pointwise == 2; 'gelu' == 1; 'mul' >= 1; copies == 0; syncs == 0", mlp);
  expect("kernels != 4; kernels < 6; kernels <= 5; kernels > 4; reduction == 0; other==0", mlp);
}

TEST(Expect, CountsBytesAndFlopsOfAllLaunches) {
  const Mlp mlp;
  // Three matmuls of 8 rows, each reading 8·16 or 8·32 numbers and a matrix of 512.
  constexpr int kGemmBytes = 4 * (2 * (8 * 16 + 512 + 8 * 32) + (8 * 32 + 512 + 8 * 16));
  constexpr int kPointwiseBytes = 4 * (2 * 256 + 3 * 256);
  expect(fmt::format("bytes == {}; flops == {}", kGemmBytes + kPointwiseBytes, 3 * 2 * 8 * 16 * 32), mlp);
  expect("bytes <= 1M; bytes > 10k; flops < 0.001G", mlp);
}

TEST(Expect, ListsLaunchesNextToConditions) {
  const Mlp mlp;
  const std::string text = message_of<ExpectationError>([&] { expect("kernels == 4; gemm == 3", mlp); });
  EXPECT_TRUE(contains(text, "E13 expectation")) << text;
  EXPECT_TRUE(contains(text, "1 of 2 conditions does not hold")) << text;
  EXPECT_TRUE(contains(text, "kernels == 4")) << text;
  EXPECT_TRUE(contains(text, "expect_test.cc:")) << text;
  EXPECT_TRUE(contains(text, "gelu")) << text;
  EXPECT_TRUE(contains(text, "✗")) << text;
}

TEST(Expect, FindsSyncsAndCopies) {
  const Tensor x = ones({4, 6});
  expect("syncs == 1; kernels == 1; reduction == 1", [&] { static_cast<void>(sum(x).item()); });
  expect("copies == 1; copy == 1; kernels == 1", [&] { x.t().contiguous(); });
  const std::string text =
      message_of<ExpectationError>([&] { expect("syncs == 0", [&] { static_cast<void>(sum(x).item()); }); });
  EXPECT_TRUE(contains(text, "read back: item at ")) << text;
}

TEST(Expect, LeavesOutWhatOtherThreadsDo) {
  const Tensor x = ones({4});
  expect("kernels == 1", [&] {
    std::thread other([&] { relu(x); });
    other.join();
    relu(x);
  });
}

TEST(Expect, RefusesMalformedConditions) {
  const auto nothing = [] {};
  const auto refusal = [&](const char* conditions) {
    return message_of<ValueError>([&] { expect(conditions, nothing); });
  };
  EXPECT_TRUE(contains(refusal(""), "there is no condition; write one such as kernels == 5"));
  EXPECT_TRUE(contains(refusal("kernel == 5"), "is not a quantity; expected one of kernels, gemm"));
  EXPECT_TRUE(contains(refusal("kernels = 5"), "has no comparison"));
  EXPECT_TRUE(contains(refusal("kernels == five"), "is not a number"));
  EXPECT_TRUE(contains(refusal("kernels == 5x"), "is not a number"));
  EXPECT_TRUE(contains(refusal("'gelu == 5"), "has an opening quote without a closing one"));
  const Profile another;
  EXPECT_TRUE(contains(refusal("kernels == 0"), "another is recording"));
}

TEST(Families, EveryOpThatLaunchesHasOne) {
  EXPECT_EQ(family(*find_op("mm")), "gemm");
  EXPECT_EQ(family(*find_op("convolution")), "convolution");
  EXPECT_EQ(family(*find_op("attention")), "attention");
  EXPECT_EQ(family(*find_op("add")), "pointwise");
  EXPECT_EQ(family(*find_op("softmax")), "reduction");
  EXPECT_EQ(family(*find_op("clone")), "copy");
  EXPECT_EQ(family(*find_op("rand")), "random");
  EXPECT_EQ(family(*find_op("t")), "view");
  EXPECT_EQ(family(*find_op("linear")), "composite");
  EXPECT_EQ(family(*find_op("sort")), "other");
}

}  // namespace
}  // namespace pel
