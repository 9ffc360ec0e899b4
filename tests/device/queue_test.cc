// The CPU as an asynchronous device: calls return before their kernels, streams are ordered where they share
// memory, and waits are where the host needs a value.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "device/gate.h"
#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::ClosedGate;
using test::thrown_by;
using test::wait_at_gate_;

const Stream kFirst(kQueue, 0), kSecond(kQueue, 1), kThird(kQueue, 2);

class Queue : public testing::Test {
 protected:
  void SetUp() override {
    synchronize(kQueue);
    reset_device_stats(kQueue);
  }
  void TearDown() override { synchronize(kQueue); }
};

TEST_F(Queue, IsAmongTheDevices) {
  const std::vector<DeviceInfo> all = devices();
  ASSERT_GE(all.size(), 2U);  // and OpenCL, if its headers were there
  EXPECT_EQ(all[0].device, kCpu);
  EXPECT_FALSE(all[0].is_asynchronous);
  EXPECT_EQ(all[1].device, kQueue);
  EXPECT_TRUE(all[1].is_asynchronous);
  EXPECT_EQ(all[1].refusal, "");
  EXPECT_GT(all[1].memory_bytes, 0);
  EXPECT_EQ(to_string(kQueue), "queue");
}

TEST_F(Queue, CopiesKeepElementsAndLayout) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    const Tensor base = arange(60, kI64).to(dtype).view({3, 4, 5});
    for (const Tensor& x : {base, base.permute({2, 0, 1}), base.slice(2, 1, 4), base.select(0, 1),
                            base.select(0, 0).select(0, 0).select(0, 2), base.slice(0, 0, 0)}) {
      const Tensor there = x.to(kQueue), back = there.to(kCpu);
      EXPECT_EQ(there.device(), kQueue);
      EXPECT_EQ(back.device(), kCpu);
      EXPECT_EQ(test::bytes_of(back), test::bytes_of(x));
    }
  }
  const Tensor x = rand({5}).to(kQueue);
  EXPECT_TRUE(x.to(kQueue).is_same(x));
}

TEST_F(Queue, LargeCopiesGoThroughStagingPieceByPiece) {
  const Tensor x = arange(12000000, kF32);  // 48 MB; the ring has 8
  const Tensor there = x.to(kQueue);
  EXPECT_GE(device_stats(kQueue).copies_in, 45U);
  EXPECT_EQ(device_stats(kQueue).copied_in_bytes, 48'000'000U);
  EXPECT_EQ(test::bytes_of(there.to(kCpu)), test::bytes_of(x));
}

TEST_F(Queue, ACallReturnsBeforeItsKernel) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  ClosedGate gate;
  wait_at_gate_(x);
  const Tensor y = x * 2 + 1;  // queued, too
  EXPECT_EQ(y.device(), kQueue);
  gate.open();
  EXPECT_EQ(to_string(y), "tensor([3., 3., 3., 3.], f32[4]@queue)");
}

// The host must not read memory of a device without a wait: the address is none of its own.
TEST_F(Queue, AForgottenWaitIsAFault) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Tensor x = ones({4}, {kF32, kQueue});
  const auto* const data = static_cast<const volatile float*>(x.raw_data());
  EXPECT_DEATH(static_cast<void>(*data), "");
}

TEST_F(Queue, DataWaitsForTheKernelsThatUseTheMemory) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  ClosedGate gate;
  wait_at_gate_(x);
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  EXPECT_EQ(x.data<const float>()[3], 1);
  opens.join();
  x.data<float>()[0] = 5;  // later kernels see it
  EXPECT_EQ((x + 1).data<const float>()[0], 6);
  EXPECT_EQ(thrown_by<DTypeError>([&] { x.data<double>(); }).message(), "the tensor holds f32, not f64");
}

TEST_F(Queue, NumbersAreCopiedIntoTheLaunch) {
  const Tensor x = ones({4}, {kF32, kQueue}), zero_dim = full({}, 3, {kF32, kQueue});
  Tensor y;
  {
    ClosedGate gate;
    const Tensor held = zeros({4}, {kF32, kQueue});
    wait_at_gate_(held);
    for (int i = 0; i < 50; ++i) y = i - x * i;  // their tensors are gone before the kernels run
  }
  EXPECT_EQ(to_string(y), "tensor([0., 0., 0., 0.], f32[4]@queue)");
  EXPECT_EQ((2 - zero_dim).item().to_double(), -1);
  EXPECT_EQ(to_string(clamp(x, 2, 3)), "tensor([2., 2., 2., 2.], f32[4]@queue)");
}

// An address that is not one of the device, and not that of a number: nothing is read there.
TEST_F(Queue, AViewWithoutElementsMayBeginAnywhere) {
  const Tensor x = zeros({2, 0, 9}, {kF32, kQueue}).transpose(1, 2);
  EXPECT_EQ(sum(x.select(1, 4), {1}).to(kCpu).sizes().size(), 1U);
  EXPECT_EQ(sum(x.select(0, 1)).item().to_double(), 0);
}

// A number is on the host, and results of numbers alone must not be.
TEST_F(Queue, GradientsTakeNumbers) {
  const std::pair<const char*, std::function<Tensor(const Tensor&)>> calls[] = {
      {"lerp", [](const Tensor& x) { return lerp(x, x * 2, 0.3); }},
      {"pow", [](const Tensor& x) { return pow(x, 2.5); }},
      {"power of a number", [](const Tensor& x) { return pow(3, x); }},
      {"xlogy", [](const Tensor& x) { return xlogy(x, 3); }},
      {"xlog1py", [](const Tensor& x) { return xlog1py(x, 3); }},
      {"fmax", [](const Tensor& x) { return fmax(x, 0.5); }},
      {"fmin", [](const Tensor& x) { return fmin(x, 0.5); }},
      {"atan2", [](const Tensor& x) { return atan2(x, 3); }},
      {"clamp", [](const Tensor& x) { return clamp(x, 0.2, 0.8); }},
      {"div", [](const Tensor& x) { return 2 / (x + 1) - 3; }},
  };
  const auto gradient = [](const auto& f, Device device) {
    const Tensor x = (arange(6, kF32) * 0.3).to(device).requires_grad_();
    sum(f(x)).backward();
    return test::bytes_of(x.grad().to(kCpu));
  };
  for (const auto& [name, f] : calls) EXPECT_EQ(gradient(f, kQueue), gradient(f, kCpu)) << name;
}

TEST_F(Queue, TensorsOfTheCpuAreRefused) {
  const Tensor x = ones({4}, {kF32, kQueue});
  EXPECT_EQ(thrown_by<DeviceError>([&] { static_cast<void>(x + ones({4})); }).message(),
            "operands are on different devices: queue and cpu; move them to one device first");
  EXPECT_EQ(thrown_by<DeviceError>([&] { static_cast<void>(ones({4}) + x); }).message(),
            "operands are on different devices: cpu and queue; move them to one device first");
}

TEST_F(Queue, ValuesWrittenOutAreCopied) {
  EXPECT_EQ(to_string(tensor({{1, 2}, {3, 4}}, {kI32, kQueue})),
            "tensor([[1, 2],\n        [3, 4]], i32[2, 2]@queue)");
}

// ---- Streams

TEST_F(Queue, AStreamWaitsForTheWritesOfAnother) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  ClosedGate gate;
  wait_at_gate_(x);
  Tensor y;
  {
    const StreamScope scope(kSecond);
    EXPECT_EQ(current_stream(kQueue), kSecond);
    y = x + 10;
  }
  EXPECT_EQ(current_stream(kQueue), kFirst);
  EXPECT_EQ(device_stats(kQueue).stream_waits, 1U);
  gate.open();
  EXPECT_EQ(y.select(0, 0).item().to_double(), 11);
}

TEST_F(Queue, ReadsOnTwoStreamsDoNotWaitForEachOther) {
  const Tensor shared = ones({4}, {kF32, kQueue}), held = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  reset_device_stats(kQueue);
  ClosedGate gate;
  wait_at_gate_(held);
  const Tensor first = shared + 1;  // after the gate
  const StreamScope scope(kSecond);
  const Tensor second = shared + 2;
  synchronize(kSecond);  // would not return if it waited for the first stream
  EXPECT_EQ(second.data<const float>()[0], 3);
}

TEST_F(Queue, AWriteWaitsForReadsOfOtherStreams) {
  const Tensor x = ones({4}, {kF32, kQueue}), held = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  ClosedGate gate;
  wait_at_gate_(held);
  const Tensor sum = x + held;  // reads x, after the gate
  {
    const StreamScope scope(kThird);
    x.fill_(100);
  }
  gate.open();
  EXPECT_EQ(sum.select(0, 0).item().to_double(), 2);
  EXPECT_EQ(x.select(0, 0).item().to_double(), 100);
}

// The block of a freed tensor may be taken by another stream while kernels that read it are queued.
TEST_F(Queue, AFreedBlockIsReusedInOrder) {
  const Tensor held = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  Tensor sum;
  ClosedGate gate;
  {
    wait_at_gate_(held);
    const Tensor x = full({1000}, 7, {kF32, kQueue});
    sum = x + held.select(0, 0);
  }
  const StreamScope scope(kSecond);
  for (int i = 0; i < 20; ++i) static_cast<void>(full({1000}, i, {kF32, kQueue}));
  gate.open();
  EXPECT_EQ(sum.select(0, 999).item().to_double(), 8);
}

TEST_F(Queue, StreamsHaveNumbersWithABound) {
  EXPECT_EQ(thrown_by<ValueError>([] { const StreamScope scope(Stream(kQueue, kMaxStreams)); }).message(),
            "queue has streams 0 to 7, not 8");
  EXPECT_EQ(thrown_by<ValueError>([] { const StreamScope scope(Stream(kCpu, 1)); }).message(),
            "cpu has streams 0 to 0, not 1");
}

TEST_F(Queue, TwoThreadsHaveStreamsOfTheirOwn) {
  const Tensor x = ones({100}, {kF32, kQueue});
  double sums[2] = {};
  const auto work = [&](int index) {
    const StreamScope scope(Stream(kQueue, 1 + index));
    Tensor y = x;
    for (int i = 0; i < 200; ++i) y = y + x;
    sums[index] = y.sum().item().to_double();
  };
  std::thread other(work, 0);
  work(1);
  other.join();
  EXPECT_EQ(sums[0], 20100);
  EXPECT_EQ(sums[1], 20100);
}

// ---- Waits

TEST_F(Queue, WaitsHaveAReasonALineAndATime) {
  const Tensor x = zeros({4}, {kF32, kQueue}), first = x.select(0, 0);
  wait_at_gate_(x);
  reset_device_stats(kQueue);
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(first.item());
  }
  const unsigned line = __LINE__ - 2;
  const std::vector<DeviceWait> waits = device_waits(kQueue);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].why, "to read an element");
  EXPECT_EQ(waits[0].count, 3U);
  EXPECT_EQ(test::file_of(waits[0].site), "queue_test.cc");
  EXPECT_EQ(waits[0].site.line(), line);
  const DeviceStats stats = device_stats(kQueue);
  EXPECT_EQ(stats.waits, 3U);
  EXPECT_EQ(stats.waited_ns, waits[0].waited_ns);
}

TEST_F(Queue, TheTimeOfAWaitIsCounted) {
  const Tensor x = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  reset_device_stats(kQueue);
  ClosedGate gate;
  wait_at_gate_(x);
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  synchronize(kQueue);
  opens.join();
  const std::vector<DeviceWait> waits = device_waits(kQueue);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].why, "in synchronize");
  EXPECT_GE(waits[0].waited_ns, 10'000'000U);
  EXPECT_EQ(waits[0].queued, 1U);
}

TEST_F(Queue, ForbidSyncNamesTheCallAndItsReason) {
  const Tensor x = ones({4}, {kF32, kQueue});
  {
    const ForbidSync forbid;
    const unsigned line = __LINE__ - 1;
    const SyncError error = thrown_by<SyncError>([&] { static_cast<void>(x.sum().item()); });
    EXPECT_EQ(error.message(),
              fmt::format("the call waits for queue to read an element, which ForbidSync at queue_test.cc:{} "
                          "forbids; move the call out of its scope, or avoid the wait",
                          line));
    EXPECT_EQ(error.op(), "item");
    thrown_by<SyncError>([&] { static_cast<void>(to_string(x)); });
    thrown_by<SyncError>([&] { static_cast<void>(x.data<const float>()); });
    thrown_by<SyncError>([&] { static_cast<void>(nonzero(x)); });
    thrown_by<SyncError>([] { synchronize(kQueue); });
    static_cast<void>(x * 2);                   // does not wait
    static_cast<void>(ones({4}).sum().item());  // on the CPU there is nothing to wait for
    static_cast<void>(ones({4}).to(kQueue));
  }
  EXPECT_EQ(x.sum().item().to_double(), 4);
}

TEST_F(Queue, AFullQueueIsAWait) {
  const Tensor x = zeros({4}, {kF32, kQueue}), y = zeros({4}, {kF32, kQueue});
  synchronize(kQueue);
  reset_device_stats(kQueue);
  std::thread opens;
  {
    ClosedGate gate;
    wait_at_gate_(x);
    opens = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      gate.open();
    });
    const ForbidSync forbid;  // how full it is depends on time: no error
    for (int i = 0; i < 3000; ++i) add_(y, 1);
    opens.join();
  }
  EXPECT_EQ(y.select(0, 1).item().to_double(), 3000);
  const std::vector<DeviceWait> waits = device_waits(kQueue);
  EXPECT_TRUE(std::ranges::any_of(
      waits, [](const DeviceWait& wait) { return wait.why == "for space in the queue"; }));
}

// ---- Statistics and tools

TEST_F(Queue, StatisticsCountLaunchesCopiesAndMemory) {
  const MemoryStats before = memory_stats(kQueue);
  const Tensor x = ones({1000}, {kF32, kQueue}), y = x + 1;
  static_cast<void>(y.to(kCpu));
  const DeviceStats stats = device_stats(kQueue);
  EXPECT_EQ(stats.launches, 2U);
  EXPECT_EQ(stats.copies_out, 1U);
  EXPECT_EQ(stats.copied_out_bytes, 4000U);
  const MemoryStats now = memory_stats(kQueue);
  EXPECT_EQ(now.data_bytes - before.data_bytes, 8000);
  EXPECT_GE(now.peak_data_bytes, now.data_bytes);
  EXPECT_EQ(device_stats(kCpu).launches, 0U);
  EXPECT_EQ(memory_stats(kCpu).data_bytes, memory_stats().data_bytes);
}

TEST_F(Queue, FreedMemoryIsReused) {
  for (int i = 0; i < 10; ++i) static_cast<void>(ones({100'000}, {kF32, kQueue}));
  const std::int64_t reserved = memory_stats(kQueue).cached_bytes + memory_stats(kQueue).data_bytes,
                     reused = memory_stats(kQueue).large_reused;
  for (int i = 0; i < 1000; ++i) static_cast<void>(ones({100'000}, {kF32, kQueue}));
  EXPECT_LE(memory_stats(kQueue).cached_bytes + memory_stats(kQueue).data_bytes, reserved + (1 << 20));
  EXPECT_GE(memory_stats(kQueue).large_reused - reused, 990);
}

TEST_F(Queue, EmptyCacheGivesFreeSegmentsBack) {
  static_cast<void>(ones({30'000'000}, {kF32, kQueue}));
  const std::int64_t cached = memory_stats(kQueue).cached_bytes;
  empty_cache(kQueue);
  EXPECT_LE(memory_stats(kQueue).cached_bytes, cached - 100'000'000);
  EXPECT_EQ(ones({3}, {kF32, kQueue}).sum().item().to_double(), 3);
}

TEST_F(Queue, LaunchesAreCountedOnTheCallingThread) {
  const Tensor x = ones({4}, {kF32, kQueue});
  const std::uint64_t before = launch_count();
  Recording recording;
  static_cast<void>(relu(x + 1));
  EXPECT_EQ(launch_count() - before, 2U);
  ASSERT_EQ(recording.events().size(), 2U);
  EXPECT_EQ(recording.events()[1].device, kQueue);
  EXPECT_STREQ(recording.events()[1].op, "relu");
}

TEST_F(Queue, TrainsAModel) {
  const Tensor x = rand({16, 8}).to(kQueue), wanted = rand({16, 1}).to(kQueue);
  Tensor w = (rand({1, 8}) * 0.1).to(kQueue).requires_grad_();
  double first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    const Tensor loss = mse_loss(linear(x, w), wanted);
    if (step == 0) first = loss.item().to_double();
    if (step == 49) last = loss.item().to_double();
    w.set_grad(Tensor());
    loss.backward();
    const NoGrad no_grad;
    w.add_(w.grad() * -0.1);
  }
  EXPECT_LT(last, first / 2);
}

// The step and the rate are where the parameters are: kernels read them.
TEST_F(Queue, OptimizersTakeTheStepsOfTheCpu) {
  const auto trained = [](Device device, const auto& make_optimizer) {
    manual_seed(3);
    nn::Linear layer(8, 4);
    layer.weight = layer.weight.detach().to(device).requires_grad_();
    layer.bias = layer.bias.detach().to(device).requires_grad_();
    const auto optimizer = make_optimizer(layer);
    const Tensor x = rand({16, 8}).to(device), wanted = rand({16, 4}).to(device);
    for (int step = 0; step < 3; ++step) {
      optimizer->zero_grad();
      mse_loss(layer(x), wanted).backward();
      const ForbidSync forbid;
      optimizer->set_lr(0.1 / (step + 1));
      optimizer->step();
    }
    EXPECT_EQ(optimizer->steps(), 3);
    for (const NamedTensor& each : optimizer->state()) EXPECT_EQ(each.tensor.device(), device) << each.path;
    return test::bytes_of(layer.weight.detach().to(kCpu));
  };
  const auto adam = [](nn::Module& module) { return std::make_unique<optim::AdamW>(module); };
  const auto sgd = [](nn::Module& module) {
    return std::make_unique<optim::SGD>(module, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
  };
  EXPECT_EQ(trained(kQueue, adam), trained(kCpu, adam));
  EXPECT_EQ(trained(kQueue, sgd), trained(kCpu, sgd));
}

}  // namespace
}  // namespace pel
