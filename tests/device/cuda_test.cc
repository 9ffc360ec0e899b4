// CUDA as a device: every op has the bits of the CPU; order, errors and the calls of the driver.
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_device.h"
#include "device/on_cuda.h"
#include "support/environment.h"
#include "support/errors.h"
#include "support/page.h"
#include "support/random.h"

namespace pel {
namespace {

using test::cuda_info;
using test::in_own_process;
using test::is_alone;
using test::names_of_calls;

class Cuda : public test::OnCuda {};

// ---- Bits

// PELLUCID_CASE=op runs one op, PELLUCID_TEST_SHARE=1 all of them: 24 s.
TEST_F(Cuda, EveryOpHasTheBitsOfTheCpu) {
  const test::Random random;  // prints the seed of the driver's order
  const auto share = static_cast<std::int64_t>(test::number_from("PELLUCID_TEST_SHARE", 4));
  const test::OpsWalked walked = test::walk_every_op(kCuda, share, "device/Cuda");
  fmt::print("{} ops run by kernels of CUDA, {} with some of the CPU's, in {:.1f} s:{}\n", walked.own,
             walked.with_fallback, walked.seconds, walked.fallbacks);
  // docs/cuda.md has both numbers.
  const std::string page = test::read_file(PELLUCID_SOURCE_DIR "/docs/cuda.md");
  const auto all = std::ranges::count_if(
      all_ops(), [](const Op* op) { return op->record().is_builtin && !is_further_form(op->name()); });
  const std::string of_all = fmt::format(" of {} ops run by kernels of their own", all);
  const std::size_t at = page.find(of_all);
  ASSERT_NE(at, std::string::npos) << "docs/cuda.md should say how many" << of_all;
  const std::int64_t own = std::atoll(page.c_str() + page.rfind(' ', at - 1) + 1);
  if (walked.is_whole) {
    EXPECT_EQ(walked.own, own) << "docs/cuda.md has another number";
  } else {
    EXPECT_LE(walked.own, own) << "docs/cuda.md has a smaller number";
  }
}

TEST_F(Cuda, LongRowsAreReducedInTheOrderOfTheCpu) {
  manual_seed(1);
  for (const std::int64_t length : {1, 31, 1024, 1025, 33'000}) {
    const Tensor x = randn({2, length}), columns = x.t().contiguous();
    EXPECT_EQ(difference(sum(x, {1}), sum(x.to(kCuda), {1})), "") << length;
    EXPECT_EQ(difference(sum(columns, {0}), sum(columns.to(kCuda), {0})), "") << length;
  }
}

TEST_F(Cuda, MatmulsHaveTheOrderOfTheCpu) {
  manual_seed(3);
  for (const DType dtype : {kF32, kF64, kF16, kBF16, kI32}) {
    const Tensor a = (randn({5, 1100}) * 4).to(dtype), b = (randn({1100, 7}) * 4).to(dtype);
    const Tensor bias = (randn({7}) * 4).to(dtype);
    EXPECT_EQ(difference(matmul(a, b), matmul(a.to(kCuda), b.to(kCuda))), "") << to_string(dtype);
    EXPECT_EQ(difference(addmm(bias, a, b), addmm(bias.to(kCuda), a.to(kCuda), b.to(kCuda))), "")
        << to_string(dtype);
  }
}

TEST_F(Cuda, EveryLayoutOfALoopHasTheBitsOfTheCpu) {
  manual_seed(2);
  for (const DType dtype : {kF32, kBF16, kF16, kF64, kI32, kU8}) {
    const Tensor x = (randn({7, 13}) * 20).abs().to(dtype), y = (randn({7, 13}) * 20).abs().to(dtype);
    const Tensor a = x.to(kCuda), b = y.to(kCuda);
    const auto compare = [&](const Tensor& wanted, const Tensor& given) {
      EXPECT_EQ(difference(wanted, given), "") << to_string(dtype);
    };
    compare(x + y, a + b);
    compare(x.t() + y.t().contiguous(), a.t() + b.t().contiguous());
    compare(x.slice(1, 3, 11, 2) + y.slice(1, 0, 4), a.slice(1, 3, 11, 2) + b.slice(1, 0, 4));
    compare(x + y.select(0, 3), a + b.select(0, 3));
    compare(x + 3, a + 3);
    compare(eq(x, y), eq(a, b));
  }
}

// A grid has 65,535 groups along its second and third axis: the launch is made in parts.
TEST_F(Cuda, MoreMatricesThanAGridHasGroups) {
  const Tensor a = rand({65'600, 1, 2}), b = rand({65'600, 2, 1});
  EXPECT_EQ(difference(bmm(a, b), bmm(a.to(kCuda), b.to(kCuda))), "");
}

// ---- Order

Tensor sum_over_streams() {
  Tensor x = zeros({1000}, {kF32, kCuda});
  for (int i = 0; i < 50; ++i) {
    const StreamScope scope(Stream(kCuda, i % 4));
    x = x + 1;
  }
  return x;
}

TEST_F(Cuda, StreamsAreOrderedByTheMemoryTheyUse) {
  const test::Random random;
  EXPECT_EQ(sum_over_streams().sum().item().to_double(), 50.0 * 1000);
}

// A planted fault: the test above finds a driver, or a device, that does not order streams.
TEST_F(Cuda, StreamsThatDoNotWaitAreFound) {
  PEL_CONTROL(ignore_waits);
  const test::Random random;
  ignore_waits(1);
  const double wrong = sum_over_streams().sum().item().to_double();
  synchronize(kCuda);
  ignore_waits(0);
  EXPECT_NE(wrong, 50.0 * 1000);
}

TEST_F(Cuda, MoreLaunchesThanTheQueueTakesWaitForSpace) {
  Tensor x = zeros({8}, {kF32, kCuda});
  for (int i = 0; i < 5000; ++i) x.add_(1);
  EXPECT_EQ(x.to(kCpu).sum().item().to_double(), 40'000);
}

TEST_F(Cuda, AKernelOfTheDeviceDoesNotWait) {
  const Tensor x = rand({8, 8}).to(kCuda);
  {
    const ForbidSync forbid;
    static_cast<void>(softmax(gelu(x + 1) * x.t(), -1).sum());
  }
  synchronize(kCuda);
}

// ---- What the driver is asked to do

TEST_F(Cuda, ACallOfAnOpIsOneLaunch) {
  PEL_CONTROL(log);
  const Tensor x = ones({100}, {kF32, kCuda}), y = ones({100}, {kF32, kCuda});
  static_cast<void>(x + y);  // compiled, and its memory is cached
  synchronize(kCuda);
  log(1);
  static_cast<void>(x + y);
  const std::string calls = log(0);
  EXPECT_TRUE(std::string_view(calls).starts_with("cuLaunchKernel(pel_add_f32_text, 2x1x1, 64x1x1, s1, m"))
      << calls;
  EXPECT_TRUE(std::string_view(calls).ends_with(", 72 bytes)\n")) << calls;
  EXPECT_EQ(std::ranges::count(calls, '\n'), 1) << calls;
}

TEST_F(Cuda, AnotherStreamWaitsOnceForWhatItReads) {
  PEL_CONTROL(log);
  const Tensor x = ones({100}, {kF32, kCuda});
  {
    const StreamScope scope(Stream(kCuda, 1));
    static_cast<void>(x * 2);
  }
  static_cast<void>(x * 2);
  static_cast<void>(x.to(kCpu));  // allocates the pinned memory of copies
  synchronize(kCuda);
  const Tensor y = x * 2;
  log(1);
  {
    const StreamScope scope(Stream(kCuda, 1));
    static_cast<void>(y * 2);
    static_cast<void>(y * 2);
  }
  EXPECT_EQ(names_of_calls(log(1)), "cuEventRecord cuStreamWaitEvent cuLaunchKernel cuLaunchKernel");
  synchronize(kCuda);
  log(1);
  static_cast<void>(y.to(kCpu));
  EXPECT_EQ(names_of_calls(log(0)), "cuMemcpyDtoHAsync cuEventRecord cuEventRecord cuEventSynchronize");
}

// ---- Errors

TEST_F(Cuda, ADivisionByZeroIsThrownLateWithItsLine) {
  const Tensor x = ones({100}, {kI32, kCuda}), zero = zeros({100}, {kI32, kCuda});
  static_cast<void>(remainder(x, zero));
  const unsigned line = __LINE__ - 1;
  const ValueError error = test::thrown_by<ValueError>([] { synchronize(kCuda); });
  EXPECT_TRUE(error.is_late());
  EXPECT_EQ(error.message(), "integer division by zero");
  EXPECT_EQ(error.op(), "remainder");
  EXPECT_EQ(error.site().line(), line);
  synchronize(kCuda);  // it is thrown once, and the device stays usable
  EXPECT_EQ((x + 1).sum().item().to_double(), 200);
}

TEST_F(Cuda, WithoutMemoryACallIsAnErrorAndTheDeviceStaysUsable) {
  PEL_CONTROL(fail_allocation);
  const Tensor x = ones({1000}, {kF32, kCuda});
  empty_cache(kCuda);
  for (int n = 1; n <= 2; ++n) {
    const std::int64_t used = memory_stats(kCuda).data_bytes;
    fail_allocation(n);
    std::vector<Tensor> results;
    test::thrown_by<MemoryError>([&] {
      for (int i = 0; i < 4; ++i) results.push_back(empty({16 << 20}, {kF32, kCuda}));
    });
    fail_allocation(0);
    EXPECT_EQ(results.size(), static_cast<std::size_t>(n - 1));
    results.clear();
    EXPECT_EQ(memory_stats(kCuda).data_bytes, used);
    EXPECT_EQ((x + 1).sum().item().to_double(), 2000);
    empty_cache(kCuda);
  }
}

TEST_F(Cuda, AnImpossibleAllocationIsAnError) {
  const std::int64_t used = memory_stats(kCuda).data_bytes;
  test::thrown_by<MemoryError>([] { empty({std::int64_t{1} << 50}, {kF32, kCuda}); });
  EXPECT_EQ(memory_stats(kCuda).data_bytes, used);
}

TEST_F(Cuda, AKernelThatTheDriverRefusesIsAnErrorWithItsLog) {
  PEL_CONTROL(refuse_module);
  const Tensor x = ones({3}, {kI8, kCuda}), y = ones({3}, {kI8, kCuda});
  synchronize(kCuda);
  refuse_module();
  const DeviceError error =
      test::thrown_by<DeviceError>([&] { static_cast<void>(maximum(x, y)); });  // built nowhere else
  EXPECT_NE(error.message().find("refused the kernel pel_maximum_i8_text: CUDA_ERROR_INVALID_PTX (218)"),
            std::string::npos)
      << error.what();
  EXPECT_NE(error.message().find("refused by the test"), std::string::npos) << error.what();
  EXPECT_EQ(difference(ones({3}, kI8), maximum(x, y)), "");
}

TEST_F(Cuda, TheHostCannotReadItsMemory) {
  const Tensor x = ones({3}, {kF32, kCuda});
  const DeviceError error = test::thrown_by<DeviceError>([&] { static_cast<void>(x.data<const float>()); });
  EXPECT_NE(error.message().find("copy it with to(kCpu)"), std::string::npos) << error.what();
}

// ---- In processes of their own

TEST_F(Cuda, AloneWithALostDevice) {
  if (!is_alone()) GTEST_SKIP() << "ALostDeviceIsAnErrorAndTheProcessGoesOn runs it";
  PEL_CONTROL(fail_kernel);
  const Tensor x = ones({3}, {kF32, kCuda});
  synchronize(kCuda);
  fail_kernel(1);
  static_cast<void>(x + 1);
  const unsigned line = __LINE__ - 1;
  const DeviceError late = test::thrown_by<DeviceError>([] { synchronize(kCuda); });
  EXPECT_TRUE(late.is_late());
  EXPECT_EQ(late.op(), "add");
  EXPECT_EQ(late.site().line(), line);
  EXPECT_NE(late.message().find("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), std::string::npos) << late.what();
  const DeviceError next = test::thrown_by<DeviceError>([&] { static_cast<void>(x + 1); });
  EXPECT_NE(next.message().find("the device was lost"), std::string::npos) << next.what();
  EXPECT_EQ((ones({3}) + 1).sum().item().to_double(), 6);
}
TEST_F(Cuda, ALostDeviceIsAnErrorAndTheProcessGoesOn) {
  PEL_CONTROL(fail_kernel);
  EXPECT_EQ(in_own_process("", "Cuda.AloneWithALostDevice"), 0);
}

// A planted fault: memory that is given back while a copy to it is queued.
TEST_F(Cuda, AloneWithMemoryFreedTooEarly) {
  if (!is_alone()) GTEST_SKIP() << "MemoryThatIsFreedTooEarlyIsFound runs it";
  PEL_CONTROL(bytes);
  const std::unique_ptr<AsyncDevice> device = cuda::make_cuda_device();
  ASSERT_EQ(device->facts().refusal, "");
  const StreamHandle stream = device->make_stream(0);
  std::byte* const segment = device->reserve(4096);
  const std::array<std::byte, 64> from{};
  ASSERT_TRUE(device->copy_in(stream, segment, from.data(), from.size()));
  const long long before = bytes();
  device->release(segment, 4096);
  EXPECT_EQ(bytes(), before - 4096);
  const EventHandle event = device->record(stream);
  device->wait(event);
  EXPECT_TRUE(device->take_error(stream).has_value());
  EXPECT_EQ(device->facts().refusal.find("the device was lost"), 0U) << device->facts().refusal;
}
TEST_F(Cuda, MemoryThatIsFreedTooEarlyIsFound) {
  PEL_CONTROL(bytes);
  EXPECT_EQ(in_own_process("", "Cuda.AloneWithMemoryFreedTooEarly"), 0);
}

// PELLUCID_TEST_WANTED is how many kernels come from the cache on disk.
TEST_F(Cuda, AloneWithACache) {
  const char* const wanted = std::getenv("PELLUCID_TEST_WANTED");
  if (wanted == nullptr) GTEST_SKIP() << "AKernelThatWasCompiledIsLoadedFromTheCache runs it";
  const Tensor x = ones({10}).to(kCuda);
  EXPECT_EQ((x + x).to(kCpu).sum().item().to_double(), 20);
  EXPECT_EQ(std::to_string(KernelCache::counts().loaded), wanted);
}
TEST_F(Cuda, AKernelThatWasCompiledIsLoadedFromTheCache) {
  std::string folder = testing::TempDir() + "cuda_cache_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const int loaded : {0, 1})
    EXPECT_EQ(in_own_process(fmt::format("PELLUCID_CACHE={} PELLUCID_TEST_WANTED={}", folder, loaded),
                             "Cuda.AloneWithACache"),
              0);
  std::filesystem::remove_all(folder);
}

TEST(CudaWithoutDriver, Alone) {
  if (!is_alone()) GTEST_SKIP() << "IsRefusedWithItsReason runs it";
  EXPECT_EQ(cuda_info().refusal.find("no driver: /there/is/none.so"), 0U) << cuda_info().refusal;
  EXPECT_TRUE(cuda_info().refusal.ends_with("(compiled; run on a test driver, not on hardware)"))
      << cuda_info().refusal;
  const DeviceError error = test::thrown_by<DeviceError>([] { empty({3}, {kF32, kCuda}); });
  EXPECT_NE(error.message().find("cuda:0 cannot be used: no driver"), std::string::npos) << error.what();
}
TEST(CudaWithoutDriver, IsRefusedWithItsReason) {
  EXPECT_EQ(in_own_process("PELLUCID_CUDA_DRIVER=/there/is/none.so", "CudaWithoutDriver.Alone"), 0);
}

}  // namespace
}  // namespace pel
