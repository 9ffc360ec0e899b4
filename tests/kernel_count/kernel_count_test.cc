// How many kernels parts of a model launch: the counts in the documentation, checked.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

struct Launched {
  std::uint64_t count;
  std::vector<std::string> names;
};

Launched launched_by(const std::function<void()>& f) {
  const std::uint64_t before = launch_count();
  Recording recording;
  f();
  std::vector<std::string> names;
  for (const Event& event : recording.events()) names.emplace_back(event.name);
  return {launch_count() - before, names};
}

std::int64_t count_of(const Launched& launched, std::string_view part) {
  return std::count_if(launched.names.begin(), launched.names.end(),
                       [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

TEST(KernelCount, ViewsAreFree) {
  const Tensor x = ones({64, 32});
  EXPECT_EQ(launched_by([&] { x.t().unsqueeze(0).expand({5, 32, 64}).select(0, 2).slice(1, 3, 9); }).count,
            0U);
}

TEST(KernelCount, ALinearWithBiasIsOneKernel) {
  for (const DType dtype : {kF32, kBF16}) {
    const Tensor x = ones({64, 256}, dtype), weight = ones({128, 256}, dtype), bias = ones({128}, dtype);
    const Launched all = launched_by([&] { linear(x, weight, bias); });
    EXPECT_EQ(all.count, 1U);
    EXPECT_EQ(count_of(all, "_tn_"), 1) << all.names.at(0);
    EXPECT_EQ(count_of(all, "_bias"), 1) << all.names.at(0);
    EXPECT_EQ(launched_by([&] { linear(x.view({4, 16, 256}), weight, bias); }).count, 1U);
    EXPECT_EQ(launched_by([&] { linear(x.view({4, 16, 256}), weight); }).count, 1U);
  }
}

TEST(KernelCount, AGatedMlpIsFiveKernels) {
  const Tensor x = ones({64, 96}), gate = ones({192, 96}), up = ones({192, 96}), down = ones({96, 192});
  const Launched all =
      launched_by([&] { linear(mul(gelu(linear(x, gate), GeluApproximate::Tanh), linear(x, up)), down); });
  EXPECT_EQ(all.count, 5U);
  EXPECT_EQ(count_of(all, "_tn_"), 3);
  EXPECT_EQ(count_of(all, "gelu_tanh"), 1);
  EXPECT_EQ(count_of(all, "mul_"), 1);
}

TEST(KernelCount, SoftmaxAndNormsAreOneKernelEach) {
  const Tensor x = ones({64, 96}), weight = ones({96});
  EXPECT_EQ(launched_by([&] { softmax(x, 1); }).count, 1U);
  EXPECT_EQ(launched_by([&] { layer_norm(x, {96}, weight, weight); }).count, 1U);
  EXPECT_EQ(launched_by([&] { rms_norm(x, {96}, weight); }).count, 1U);
}

TEST(KernelCount, APreNormTransformerBlockIsTwelveKernels) {
  constexpr std::int64_t kBatch = 2, kRows = 10, kHeads = 4, kHead = 16, kWidth = kHeads * kHead;
  const Tensor x = ones({kBatch, kRows, kWidth}), one = ones({kWidth}),
               in_weight = ones({3 * kWidth, kWidth}), in_bias = ones({3 * kWidth}),
               out_weight = ones({kWidth, kWidth}), gate = ones({3 * kWidth, kWidth}),
               up = ones({3 * kWidth, kWidth}), down = ones({kWidth, 3 * kWidth});
  std::uint64_t total = 0;
  Tensor result;
  const auto step = [&](std::uint64_t expected, const std::function<Tensor()>& f) {
    const std::uint64_t count = launched_by([&] { result = f(); }).count;
    EXPECT_EQ(count, expected) << "after " << total << " kernels";
    total += count;
    return result;
  };
  const Tensor normed = step(1, [&] { return layer_norm(x, {kWidth}, one, one); });
  const Tensor merged = step(1, [&] { return linear(normed, in_weight, in_bias); });
  const Tensor heads =  // query, key and value are views: [3, batch, heads, rows, columns]
      step(0, [&] { return merged.view({kBatch, kRows, 3, kHeads, kHead}).permute({2, 0, 3, 1, 4}); });
  AttentionOptions options;
  options.causal = Causal::Yes;
  const Tensor attended = step(1, [&] {
    return scaled_dot_product_attention(heads.select(0, 0), heads.select(0, 1), heads.select(0, 2),
                                        std::nullopt, options);
  });
  const Tensor joined =  // the heads of a row are contiguous
      step(0, [&] { return attended.transpose(1, 2).reshape({kBatch, kRows, kWidth}); });
  const Tensor projected = step(1, [&] { return linear(joined, out_weight, one); });
  const Tensor middle = step(1, [&] { return add(x, projected); });
  const Tensor again = step(1, [&] { return layer_norm(middle, {kWidth}, one, one); });
  const Tensor gated = step(2, [&] { return gelu(linear(again, gate), GeluApproximate::Tanh); });
  const Tensor hidden = step(2, [&] { return mul(gated, linear(again, up)); });
  const Tensor narrow = step(1, [&] { return linear(hidden, down); });
  step(1, [&] { return add(middle, narrow); });
  EXPECT_EQ(total, 12U);
}

}  // namespace
}  // namespace pel
