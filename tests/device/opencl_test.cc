// Every op on OpenCL: the bits of the CPU, and which ops run by kernels of the device. Errors of the device.
#include "device/opencl.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/ops/optim.h"

#include "backends/opencl/opencl_device.h"
#include "device/all_arguments.h"
#include "device/op_calls.h"
#include "device/same_bits.h"
#include "dispatch/op_table.h"
#include "support/environment.h"
#include "support/errors.h"

namespace pel {
namespace {

class OpenCl : public test::OpenClTest {};
using test::difference_on_opencl;

// PELLUCID_CASE=op runs one op, PELLUCID_TEST_SHARE=N one op in N.
TEST_F(OpenCl, EveryOpHasTheBitsOfTheCpu) {
  const test::OpsWalked walked = test::walk_every_op(kOpenCl, test::test_share(), "device/OpenCl");
  fmt::print("{} ops run by kernels of OpenCL, {} with some of the CPU's, in {:.1f} s:{}\n", walked.own,
             walked.with_fallback, walked.seconds, walked.fallbacks);
  if (walked.is_whole) {
    EXPECT_GE(walked.own, 270);
  }
}

// ---- Calls without a kernel

TEST_F(OpenCl, ACallWithoutAKernelIsCountedByItsLine) {
  reset_device_stats(kOpenCl);
  const Tensor x = rand({7}).to(kOpenCl);
  for (int i = 0; i < 3; ++i) static_cast<void>(sort(x));
  const unsigned line = __LINE__ - 1;
  const std::vector<DeviceFallback> rows = device_fallbacks(kOpenCl);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].op, "sort");
  EXPECT_EQ(rows[0].count, 3U);
  EXPECT_EQ(rows[0].site.line(), line);
  EXPECT_EQ(rows[0].reason, "there is no kernel of this op for the device");
}

TEST_F(OpenCl, ACallWithoutAKernelWaits) {
  const Tensor x = rand({7}).to(kOpenCl);
  const ForbidSync forbid;
  const SyncError error = test::thrown_by<SyncError>([&] { static_cast<void>(sort(x)); });
  EXPECT_NE(error.message().find("to run an op on the CPU that the device has no kernel for"),
            std::string::npos)
      << error.what();
}

TEST_F(OpenCl, AKernelOfTheDeviceDoesNotWait) {
  const Tensor x = rand({64, 64}).to(kOpenCl);
  {
    const ForbidSync forbid;
    static_cast<void>(softmax(gelu(x + 1) * x.t(), -1).sum());
  }
  synchronize(kOpenCl);
}

// ---- Arguments

// ./dev test exhaustive tests all 2^32.
TEST_F(OpenCl, AShareOfAllArgumentsHasTheBitsOfTheCpu) {
  const NoGrad no_grad;
  constexpr std::uint64_t kStride = 4099;  // odd, so that all low bits occur
  for (const test::TestedFunction& function : test::tested_functions())
    EXPECT_EQ(test::differing_arguments(function, kStride), "") << function.name;
}

// ---- Optimizers

// All rules and dtypes, with the step and the rate on the device. f16 and bf16 have states of f32.
TEST_F(OpenCl, OptimizersTakeTheStepsOfTheCpu) {
  reset_device_stats(kOpenCl);
  struct Case {
    double momentum, dampening, weight_decay;
    Nesterov nesterov;
  };
  for (const DType dtype : {kF32, kF16, kBF16, kF64}) {
    const auto run = [&](Device device) {
      manual_seed(11);
      const DType state_type = dtype == kF64 ? kF64 : kF32;
      std::vector<Tensor> results;
      const auto made = [&](DType of) {
        return std::vector<Tensor>{randn({37, 3}).to(of).to(device), randn({3}).to(of).to(device)};
      };
      const auto zero = [&] {
        return std::vector<Tensor>{zeros({37, 3}, {state_type, device}), zeros({3}, {state_type, device})};
      };
      const auto end = [&](const Tensor& step, std::vector<Tensor> tensors) {
        results.push_back(step);
        results.insert(results.end(), tensors.begin(), tensors.end());
      };
      const Tensor lr = full({}, 0.01, {kF32, device});
      for (const Decoupled decoupled : {Decoupled::No, Decoupled::Yes}) {
        const Tensor step = full({}, 20, {kF32, device});
        const std::vector<Tensor> params = made(dtype), first = zero(), second = zero();
        for (int i = 0; i < 3; ++i)
          internal::adam_step_(step, params, first, second, made(dtype), lr, 0.9, 0.999, 1e-8, 0.1,
                               decoupled);
        end(step, params), end(step, first), end(step, second);
      }
      for (const Case& each : {Case{0, 0, 0.1, Nesterov::No}, Case{0.9, 0, 0, Nesterov::No},
                               Case{0.9, 0.1, 0.1, Nesterov::No}, Case{0.9, 0, 0.1, Nesterov::Yes}}) {
        const Tensor step = zeros({}, {kF32, device});
        const std::vector<Tensor> params = made(dtype), momenta = zero();
        for (int i = 0; i < 3; ++i)
          internal::sgd_step_(step, params, momenta, made(dtype), lr, each.momentum, each.dampening,
                              each.weight_decay, each.nesterov);
        end(step, params), end(step, momenta);
      }
      return results;
    };
    const std::vector<Tensor> wanted = run(kCpu), given = run(kOpenCl);
    ASSERT_EQ(wanted.size(), given.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(difference_on_opencl(wanted[i], given[i]), "") << name(dtype) << " result " << i;
  }
  EXPECT_EQ(test::fallbacks_on_opencl(), "");
}

// ---- Errors

TEST_F(OpenCl, ADivisionByZeroIsThrownLateWithItsLine) {
  const Tensor x = ones({100}, {kI32, kOpenCl}), zero = zeros({100}, {kI32, kOpenCl});
  static_cast<void>(remainder(x, zero));
  const unsigned line = __LINE__ - 1;
  const ValueError error = test::thrown_by<ValueError>([] { synchronize(kOpenCl); });
  EXPECT_TRUE(error.is_late());
  EXPECT_EQ(error.message(), "integer division by zero");
  EXPECT_EQ(error.op(), "remainder");
  EXPECT_EQ(error.site().line(), line);
  synchronize(kOpenCl);  // it is thrown once, and the device stays usable
  EXPECT_EQ((x + 1).sum().item().to_double(), 200);
}

TEST_F(OpenCl, AFailedBuildHasTheLogOfTheCompiler) {
  const std::unique_ptr<AsyncDevice> device = opencl::make_opencl_device();
  ASSERT_EQ(device->facts().refusal, "");
  const DeviceError error = test::thrown_by<DeviceError>(
      [&] { device->build({"broken", "__kernel void broken() { undeclared = 1; }"}); });
  EXPECT_NE(error.message().find("refused the kernel broken"), std::string::npos) << error.what();
  EXPECT_NE(error.message().find("undeclared"), std::string::npos) << error.what();
  device->build({"right", "__kernel void right() {}"});
}

// ---- The end of a process

// Run by the test below, in a process of its own.
TEST_F(OpenCl, InAProcessThatEndsAtOnce) {
  if (std::getenv("PELLUCID_TEST_ENDS") == nullptr)
    GTEST_SKIP() << "AProcessMayEndWhileKernelsAreQueued runs it";
  const Tensor x = ones({10}, {kF32, kOpenCl});
  static_cast<void>(x * x + x);
}

// PoCL compiles a kernel when it runs it, which is after the process has begun to end.
TEST_F(OpenCl, AProcessMayEndWhileKernelsAreQueued) {
  for (int i = 0; i < 3; ++i) {
    std::string folder = testing::TempDir() + "pocl_cache_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const std::string command = fmt::format(
        "POCL_CACHE_DIR={} PELLUCID_TEST_ENDS=1 /proc/{}/exe --gtest_filter=OpenCl.InAProcessThatEnds*",
        folder, getpid());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::filesystem::remove_all(folder);
  }
}

// ---- Built kernels on disk

// Run by the test below, in processes of its own with a cache folder: PELLUCID_TEST_WANTED is how many
// kernels are loaded from it.
TEST_F(OpenCl, InAProcessWithACache) {
  const char* const wanted = std::getenv("PELLUCID_TEST_WANTED");
  if (wanted == nullptr) GTEST_SKIP() << "AKernelThatWasBuiltIsLoadedFromTheCache runs it";
  const Tensor x = ones({10}).to(kOpenCl);
  EXPECT_EQ((x + x).to(kCpu).sum().item().to_double(), 20);
  EXPECT_EQ(std::to_string(KernelCache::counts().loaded), wanted);
}

TEST_F(OpenCl, AKernelThatWasBuiltIsLoadedFromTheCache) {
  std::string folder = testing::TempDir() + "opencl_cache_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto run = [&](int loaded) {
    const std::string command = fmt::format(
        "PELLUCID_CACHE={} PELLUCID_TEST_WANTED={} /proc/{}/exe --gtest_filter=OpenCl.InAProcessWith*",
        folder, loaded, getpid());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  };
  run(0);
  run(1);
  for (const auto& file : std::filesystem::directory_iterator(folder + "/kernels")) {
    if (file.path().extension() != ".kernels") continue;
    std::fstream entry(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    entry.seekp(100).put('x');  // damaged: it is built again
  }
  run(0);
  std::filesystem::remove_all(folder);
}

TEST_F(OpenCl, AnImpossibleAllocationIsAnError) {
  const std::int64_t used = memory_stats(kOpenCl).data_bytes;
  test::thrown_by<MemoryError>([] { empty({std::int64_t{1} << 50}, {kF32, kOpenCl}); });
  EXPECT_EQ(memory_stats(kOpenCl).data_bytes, used);
}

TEST_F(OpenCl, TheHostCannotReadItsMemory) {
  const Tensor x = ones({3}, {kF32, kOpenCl});
  const DeviceError error = test::thrown_by<DeviceError>([&] { static_cast<void>(x.data<const float>()); });
  EXPECT_NE(error.message().find("copy it with to(kCpu)"), std::string::npos) << error.what();
}

// An eager call without a kernel waits; a plan must not.
TEST_F(OpenCl, CompileRefusesAnOpWithoutAKernel) {
  const auto fast = compile([](const Tensor& a) { return std::get<0>(sort(a)) + 1; });
  const Tensor x = ones({3}, {kF32, kOpenCl});
  const NoKernelError error = test::thrown_by<NoKernelError>([&] { static_cast<void>(fast(x)); });
  EXPECT_NE(error.message().find("no kernel on opencl:0 takes this call"), std::string::npos) << error.what();
  EXPECT_NE(error.message().find("call the op outside the function"), std::string::npos) << error.what();
  EXPECT_EQ(error.op(), "sort");
}

// ---- Order

TEST_F(OpenCl, StreamsAreOrderedByTheMemoryTheyUse) {
  Tensor x = zeros({100'000}, {kF32, kOpenCl});
  for (int i = 0; i < 50; ++i) {
    const StreamScope scope(Stream(kOpenCl, i % 4));
    x = x + 1;
  }
  EXPECT_EQ(x.sum().item().to_double(), 50.0 * 100'000);
}

TEST_F(OpenCl, MoreLaunchesThanTheQueueTakesWaitForSpace) {
  Tensor x = zeros({8}, {kF32, kOpenCl});
  for (int i = 0; i < 10'000; ++i) x.add_(1);
  EXPECT_EQ(x.to(kCpu).sum().item().to_double(), 80'000);
}

// ---- Bits of large operands, in all forms of a loop

TEST_F(OpenCl, LongRowsAreReducedInTheOrderOfTheCpu) {
  manual_seed(1);
  for (const std::int64_t length : {1, 31, 1024, 1025, 33'000, 1'100'000, 2'200'000}) {
    const Tensor x = randn({2, length});
    const Tensor given = x.to(kOpenCl);
    EXPECT_EQ(difference_on_opencl(sum(x, {1}), sum(given, {1})), "") << length;
    const Tensor columns = x.t().contiguous();
    EXPECT_EQ(difference_on_opencl(sum(columns, {0}), sum(columns.to(kOpenCl), {0})), "") << length;
  }
}

TEST_F(OpenCl, EveryLayoutOfALoopHasTheBitsOfTheCpu) {
  manual_seed(2);
  for (const DType dtype : {kF32, kBF16, kF64, kI32, kU8}) {
    const Tensor x = (randn({37, 53}) * 20).abs().to(dtype), y = (randn({37, 53}) * 20).abs().to(dtype);
    const Tensor a = x.to(kOpenCl), b = y.to(kOpenCl);
    const auto compare = [&](const Tensor& wanted, const Tensor& given) {
      EXPECT_EQ(difference_on_opencl(wanted, given), "") << to_string(dtype);
    };
    compare(x + y, a + b);
    compare(x.t() + y.t(), a.t() + b.t());
    compare(x + y.t().contiguous().t(), a + b.t().contiguous().t());
    compare(x.slice(1, 3, 50, 2) + y.slice(1, 0, 24), a.slice(1, 3, 50, 2) + b.slice(1, 0, 24));
    compare(x + y.select(0, 3), a + b.select(0, 3));
    compare(x.select(1, 0).unsqueeze(1) + y, a.select(1, 0).unsqueeze(1) + b);
    compare(x + 3, a + 3);
    compare(x.to(kF32) + y, a.to(kF32) + b);
    compare(eq(x, y), eq(a, b));
    Tensor to_cpu = zeros({53, 37}, {kF32}), to_device = zeros({53, 37}, {kF32, kOpenCl});
    to_cpu.t().copy_(x);
    to_device.t().copy_(a);
    compare(to_cpu, to_device);
  }
}

}  // namespace
}  // namespace pel
