// A driver that fails: errors are typed, and the process, and the device where it is not lost, stay usable.
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

#include "backends/opencl/opencl_device.h"
#include "support/bytes.h"
#include "support/errors.h"

namespace pel {
namespace {

using test::thrown_by;

// Statuses of OpenCL.
constexpr int kDeviceNotAvailable = -2, kNoMemoryForObject = -4, kOutOfResources = -5, kBuildFailure = -11,
              kWaitFailed = -14;

// While in scope, a function of OpenCL returns a status.
class FaultOf {
 public:
  FaultOf(std::string_view function, int status) {
    function_ = function;
    status_ = status;
    opencl::set_fault([](const char* called) { return function_ == called ? status_ : 0; });
  }
  ~FaultOf() { opencl::set_fault(nullptr); }
  FaultOf(const FaultOf&) = delete;
  FaultOf& operator=(const FaultOf&) = delete;

 private:
  static inline std::string_view function_;
  static inline int status_ = 0;
};

class OpenClFaults : public testing::Test {
 protected:
  void SetUp() override {
    for (const DeviceInfo& info : devices())
      if (info.device == kOpenCl && !info.refusal.empty()) GTEST_SKIP() << info.refusal;
    synchronize(kOpenCl);
  }
  static void expect_usable() {
    EXPECT_EQ((ones({4}, {kF32, kOpenCl}) + 1).to(kCpu).sum().item().to_double(), 8);
  }
};

TEST_F(OpenClFaults, MemoryThatTheDriverHasNotIsAMemoryError) {
  const std::int64_t used = memory_stats(kOpenCl).data_bytes;
  {
    const FaultOf fault("clCreateBuffer", kNoMemoryForObject);
    const MemoryError error =
        thrown_by<MemoryError>([] { static_cast<void>(empty({1 << 26}, {kF32, kOpenCl})); });
    EXPECT_NE(error.message().find("could not allocate 268435456 bytes for opencl"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(memory_stats(kOpenCl).data_bytes, used);
  static_cast<void>(empty({1 << 26}, {kF32, kOpenCl}));
  expect_usable();
}

TEST_F(OpenClFaults, ALaunchWithoutResourcesIsAMemoryError) {
  const Tensor x = ones({4}, {kF32, kOpenCl});
  synchronize(kOpenCl);
  {
    const FaultOf fault("clEnqueueNDRangeKernel", kOutOfResources);
    const MemoryError error = thrown_by<MemoryError>([&] { static_cast<void>(x + x); });
    EXPECT_NE(error.message().find("clEnqueueNDRangeKernel found no memory"), std::string::npos)
        << error.what();
    EXPECT_EQ(error.op(), "add");
  }
  expect_usable();
}

// The kernel is built by the next call that needs it.
TEST_F(OpenClFaults, ABuildThatFailsFailsItsCallAlone) {
  const Tensor x = rand({5}) + 1, there = x.to(kOpenCl);
  const auto fast = compile([](const Tensor& a) { return asinh(a) * acosh(a); });
  {
    const FaultOf fault("clBuildProgram", kBuildFailure);
    const DeviceError error = thrown_by<DeviceError>([&] { static_cast<void>(asinh(there)); });
    EXPECT_NE(error.message().find("refused the kernel pel_asinh_f32_text"), std::string::npos)
        << error.what();
    EXPECT_EQ(error.op(), "asinh");
    thrown_by<DeviceError>([&] { static_cast<void>(fast(there)); });
  }
  EXPECT_EQ(test::bytes_of(asinh(there).to(kCpu)), test::bytes_of(asinh(x)));
  EXPECT_EQ(test::bytes_of(fast(there).to(kCpu)), test::bytes_of(asinh(x) * acosh(x)));
  expect_usable();
}

// Run by the tests below, in processes of their own: a device that is lost stays lost.
TEST_F(OpenClFaults, InAProcessThatLosesTheDevice) {
  const char* const function = std::getenv("PELLUCID_TEST_LOSES");
  if (function == nullptr) GTEST_SKIP() << "ALostDevice… run it";
  const Tensor x = ones({4}, {kF32, kOpenCl});
  const auto fast = compile([](const Tensor& a) { return a * 2 + 1; });
  const Tensor y = fast(x);
  synchronize(kOpenCl);
  {
    const bool in_wait = std::string_view(function) == "clWaitForEvents";
    const FaultOf fault(function, in_wait ? kWaitFailed : kDeviceNotAvailable);
    const DeviceError error = thrown_by<DeviceError>([&] {
      static_cast<void>(x + x);
      synchronize(kOpenCl);
    });
    EXPECT_EQ(error.is_late(), in_wait);
    EXPECT_EQ(error.op(), "add");
    EXPECT_NE(error.message().find(function), std::string::npos) << error.what();
  }
  // All that needs the device says so; what does not goes on.
  for (const auto& call : {std::function<void()>([&] { static_cast<void>(x + x); }),
                           std::function<void()>([&] { static_cast<void>(fast(x)); }),
                           std::function<void()>([&] { static_cast<void>(y.to(kCpu)); }),
                           std::function<void()>([] { static_cast<void>(ones({3}, {kF32, kOpenCl})); }),
                           std::function<void()>([] { synchronize(kOpenCl); })}) {
    const DeviceError error = thrown_by<DeviceError>(call);
    EXPECT_NE(error.message().find("the device was lost"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("the devices that can are cpu, queue"), std::string::npos) << error.what();
  }
  EXPECT_EQ(ones({4}).sum().item().to_double(), 4);
  EXPECT_EQ((ones({4}, {kF32, kQueue}) + 1).sum().item().to_double(), 8);
  Profile profile;  // waits for devices at its end
  static_cast<void>(ones({4}) + 1);
  profile.stop();
}

// What the commands of a lost device refer to is never freed: they have not ended.
std::string losing(std::string_view function) {
  return fmt::format(
      "ASAN_OPTIONS=detect_leaks=0 PELLUCID_TEST_LOSES={} /proc/{}/exe "
      "--gtest_filter=OpenClFaults.InAProcessThatLoses*",
      function, getpid());
}
TEST_F(OpenClFaults, ALostDeviceIsNoticedByALaunch) {
  EXPECT_EQ(std::system(losing("clEnqueueNDRangeKernel").c_str()), 0);
}
TEST_F(OpenClFaults, ALostDeviceIsNoticedByAWait) {
  EXPECT_EQ(std::system(losing("clWaitForEvents").c_str()), 0);
}

}  // namespace
}  // namespace pel
