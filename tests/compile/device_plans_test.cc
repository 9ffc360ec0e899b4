// Plans on an asynchronous device: replays only queue, with the bits, the kernels and the memory of a plan.
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "device/gate.h"
#include "support/bytes.h"
#include "support/cuda_driver/chosen.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::ClosedGate;
using test::thrown_by;
using test::wait_at_gate_;

auto bits_on_host(const Tensor& t) { return test::bytes_of(t.to(kCpu)); }

// Functions of one tensor whose weights are on a device.
struct NamedFunction {
  std::string name;
  std::function<Tensor(const Tensor&)> f;
  std::int64_t width;
};
std::vector<NamedFunction> functions_on(Device device) {
  manual_seed(11);
  const auto weight = [&](std::vector<Dim> sizes) { return (randn(sizes) * 0.2).to(device); };
  const Tensor up = weight({96, 64}), gate = weight({96, 64}), down = weight({64, 96}), scale = weight({64});
  const Tensor square = weight({64, 64}), bias = weight({96});
  std::vector<NamedFunction> functions = {
      {"pointwise", [](const Tensor& x) { return gelu(x * 2 + 1) * x - 0.5; }, 64},
      {"rows", [](const Tensor& x) { return softmax(x * 0.125, -1).to(kBF16); }, 64},
      {"rms norm", [=](const Tensor& x) { return rms_norm(x + 1, {64}) * scale; }, 64},
      {"geglu", [=](const Tensor& x) { return linear(gelu(linear(x, gate)) * linear(x, up), down) + x; }, 64},
      {"views", [](const Tensor& x) { return cat({x.t().contiguous(), x.t() + 1}, 1).slice(0, 3, 40); }, 64},
      {"constants", [=](const Tensor& x) { return x + ones({64}, {kF32, device}) * 3; }, 64},
      {"sizes as numbers", [](const Tensor& x) { return x * x.size(0) + x.size(1); }, 64},
      {"residual and norm", [=](const Tensor& x) { return layer_norm(x + gelu(x), {64}, scale) + x; }, 64},
      {"bias in the matmul", [=](const Tensor& x) { return linear(gelu(linear(x, gate, bias)), down); }, 64},
      {"columns", [](const Tensor& x) { return softmax(x * 2, 0) + x; }, 64},
  };
  // Devices that build their kernels from text have none for it.
  if (device != kOpenCl && device != kCuda)
    functions.push_back({"attention",
                         [=](const Tensor& x) {
                           const Tensor q = linear(x, square).view({1, x.size(0), 4, 16}).transpose(1, 2);
                           return scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(
                               {x.size(0), 64});
                         },
                         64});
  return functions;
}

class DevicePlans : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    for (const DeviceInfo& info : devices())
      if (info.device == device_ && !info.refusal.empty()) GTEST_SKIP() << info.refusal;
    synchronize(device_);
    reset_device_stats(device_);
  }
  void TearDown() override {
    if (!IsSkipped()) synchronize(device_);
  }
  const Device device_ = GetParam();
  const NoGrad no_grad_;
};
INSTANTIATE_TEST_SUITE_P(Devices, DevicePlans, testing::Values(kQueue, kOpenCl, kCuda), [](const auto& of) {
  return of.param == kQueue ? "queue" : of.param == kOpenCl ? "opencl" : "cuda";
});

// Closed where kernels of a test can wait: on the device that runs them on a thread.
class GateOf {
 public:
  explicit GateOf(Device device) {
    if (device == kQueue) gate_.emplace();
  }
  // With it closed nothing that is queued after this can end.
  void hold(const Tensor& held) const {
    if (gate_) wait_at_gate_(held);
  }

 private:
  std::optional<ClosedGate> gate_;
};

TEST_P(DevicePlans, HaveTheBitsAndTheKernelsOfTheCpu) {
  const auto there = functions_on(device_), here = functions_on(kCpu);
  for (std::size_t i = 0; i < there.size(); ++i) {
    const auto fast = compile(there[i].f), fast_here = compile(here[i].f);
    for (const std::int64_t rows : {7, 130, 1, 7}) {
      const Tensor x = randn({rows, here[i].width});
      const Tensor x_there = x.to(device_);
      EXPECT_EQ(bits_on_host(fast(x_there)), test::bytes_of(here[i].f(x))) << here[i].name << " " << rows;
      fast_here(x);
      EXPECT_EQ(fast.kernels(x_there).size(), fast_here.kernels(x).size()) << here[i].name;
    }
    EXPECT_EQ(fast.compiles(), fast_here.compiles()) << here[i].name;
  }
}

// With the gate closed nothing that is queued can end: a replay that waits for it would never return.
TEST_P(DevicePlans, ReplaysOnlyQueue) {
  for (const NamedFunction& each : functions_on(device_)) {
    const auto fast = compile(each.f);
    const Tensor x = randn({33, each.width}).to(device_), held = zeros({4}, {kF32, device_});
    const auto first = bits_on_host(fast(x));
    reset_device_stats(device_);
    Tensor again;
    {
      const GateOf gate(device_);
      gate.hold(held);
      {
        const ForbidSync forbid;
        const auto before = launch_count();
        for (int i = 0; i < 3; ++i) again = fast(x);
        EXPECT_EQ(launch_count() - before, 3 * fast.kernels(x).size()) << each.name;
      }
      EXPECT_EQ(device_stats(device_).waits, 0U) << each.name;
      EXPECT_EQ(fast.plans(), 1U);
    }
    EXPECT_EQ(bits_on_host(again), first) << each.name;
  }
}

// On a device every tensor counts in MemoryStats::data_bytes, small ones too.
TEST_P(DevicePlans, TheForecastIsWhatTheDeviceCounts) {
  for (const NamedFunction& each : functions_on(device_)) {
    const auto fast = compile(each.f);
    for (const std::int64_t rows : {3, 200}) {
      const Tensor x = randn({rows, each.width}).to(device_);
      const std::int64_t forecast = fast.peak_bytes(x);
      for (int run = 0; run < 3; ++run) {  // the second may be captured, the third is a replay then
        reset_peak_memory(device_);
        const std::int64_t before = memory_stats(device_).data_bytes;
        const Tensor y = fast(x);
        EXPECT_EQ(memory_stats(device_).peak_data_bytes - before, forecast) << each.name << " " << rows;
      }
    }
  }
}

TEST_P(DevicePlans, AFunctionMayBeGoneBeforeItsKernelsHaveRun) {
  const Tensor x = randn({50, 64}), there = x.to(device_), held = zeros({4}, {kF32, device_});
  const auto f = [](const Tensor& a) { return softmax(gelu(a * 3) + a, -1); };
  Tensor y;
  {
    const GateOf gate(device_);
    auto fast = std::make_unique<decltype(compile(f))>(compile(f));
    gate.hold(held);
    y = (*fast)(there);
    fast.reset();  // its kernels were compiled for it
  }
  EXPECT_EQ(bits_on_host(y), test::bytes_of(f(x)));
}

TEST_P(DevicePlans, AGraphIsOfOneDevice) {
  const auto fast = compile([](const Tensor& a, const Tensor& b) { return gelu(a) + b; });
  const Tensor x = randn({5, 3}), y = randn({5, 3});
  EXPECT_EQ(test::bytes_of(fast(x, y)), test::bytes_of(gelu(x) + y));
  EXPECT_EQ(bits_on_host(fast(x.to(device_), y.to(device_))), test::bytes_of(gelu(x) + y));
  EXPECT_EQ(fast.compiles(), 2U);
  EXPECT_EQ(test::bytes_of(fast(x, y)), test::bytes_of(gelu(x) + y));
  EXPECT_EQ(fast.compiles(), 2U);
  const CaptureError error = thrown_by<CaptureError>([&] { static_cast<void>(fast(x.to(device_), y)); });
  for (const char* part : {"expected all tensors of the function on ", "found f32[", "] on cpu; "})
    EXPECT_NE(error.message().find(part), std::string::npos) << error.what();
}

TEST_P(DevicePlans, AreOrderedWithOtherStreams) {
  const auto fast = compile([](const Tensor& a) { return gelu(a) * 2; });
  const Tensor x = zeros({64}, {kF32, device_});
  fast(x);
  const Tensor before = ones({64});
  Tensor y;
  {
    const GateOf gate(device_);
    if (device_ == kQueue) {
      gate.hold(x);  // on stream 0, which adds 1
    } else {
      x.add_(1);
    }
    const StreamScope other(Stream(device_, 3));
    y = fast(x);
    x.zero_();  // after the plan has read it
  }
  EXPECT_EQ(bits_on_host(y), test::bytes_of(gelu(before) * 2));
  EXPECT_EQ(bits_on_host(x), test::bytes_of(zeros({64})));
}

TEST_P(DevicePlans, DrawTheRandomNumbersOfTheCpu) {
  const auto f = [](const Tensor& a) { return dropout(a, 0.5, Training::Yes) + rand_like(a); };
  const auto fast = compile(f);
  const Tensor x = ones({40}), there = x.to(device_);
  for (int i = 0; i < 3; ++i) {
    manual_seed(static_cast<std::uint64_t>(i));
    const Tensor given = fast(there);
    manual_seed(static_cast<std::uint64_t>(i));
    EXPECT_EQ(bits_on_host(given), test::bytes_of(f(x)));
  }
}

TEST_P(DevicePlans, ALateErrorNamesTheCallInTheFunction) {
  std::uint32_t line = 0;
  const auto fast = compile([&](const Tensor& a, const Tensor& indices) {
    line = __LINE__ + 1;
    return index_select(a, 0, indices) + 1;
  });
  const Tensor a = rand({4, 3}).to(device_);
  fast(a, arange(2, kI64).to(device_));
  synchronize(device_);
  const Tensor bad = full({2}, 9, kI64).to(device_);
  static_cast<void>(fast(a, bad));
  const IndexError error = thrown_by<IndexError>([&] { synchronize(device_); });
  EXPECT_TRUE(error.is_late());
  EXPECT_NE(std::string(error.what()).find(fmt::format("device_plans_test.cc:{}", line)), std::string::npos)
      << error.what();
}

TEST_P(DevicePlans, TrainAsTheCpuDoes) {
  const EnableGrad records;
  // Devices that build their kernels from text have none of optimizers.
  const bool has_optimizer = device_ == kQueue;
  const auto trained = [&](Device device) {
    manual_seed(5);
    nn::Linear layer(16, 8);
    layer.weight = layer.weight.detach().to(device).requires_grad_();
    layer.bias = layer.bias.detach().to(device).requires_grad_();
    optim::AdamW optimizer(layer, {.lr = 1e-2});
    const auto step = compile([&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = mse_loss(gelu(layer(x)), y);
      loss.backward();
      if (has_optimizer) {
        optimizer.step();
      } else {
        const NoGrad no_grad;
        for (Tensor* const weight : {&layer.weight, &layer.bias}) weight->sub_(weight->grad() * 1e-2);
      }
      return loss.detach();
    });
    const Tensor x = rand({32, 16}).to(device), y = rand({32, 8}).to(device);
    Tensor loss;
    for (int i = 0; i < 5; ++i) loss = step(x, y);
    EXPECT_LE(step.compiles(), 2U);
    return std::pair(bits_on_host(loss), bits_on_host(layer.weight.detach()));
  };
  EXPECT_EQ(trained(device_), trained(kCpu));
}

// Kernels of a plan are inside the call in a profile, though they run elsewhere.
TEST_P(DevicePlans, AreExplainedWithTheTimesOfTheDevice) {
  const auto fast = compile([](const Tensor& a) { return softmax(gelu(a) * 2, -1); });
  const CompileExplanation explanation = fast.explain_measured(randn({64, 64}).to(device_));
  ASSERT_EQ(explanation.graphs.size(), 1U);
  if (device_ == kCuda) {  // which tells no times yet
    EXPECT_NE(explanation.graphs[0].not_measured, "");
    return;
  }
  EXPECT_EQ(explanation.graphs[0].not_measured, "");
  EXPECT_EQ(explanation.graphs[0].measured_calls, 7);
}

}  // namespace
}  // namespace pel
