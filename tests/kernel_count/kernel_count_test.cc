// How many kernels a piece of model launches: counts that readers are told, held as tests.
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
  for (const Event& event : recording.events())
    if (event.kind == Event::Kind::Kernel) names.emplace_back(event.name);
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
  const Launched all = launched_by([&] { linear(mul(gelu(linear(x, gate), "tanh"), linear(x, up)), down); });
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

}  // namespace
}  // namespace pel
