// Kernels and copies of OpenCL have the times of the device in a profile, on the clock of the host.
#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "support/bytes.h"

namespace pel {
namespace {

struct OpenClEvent {
  ProfileEvent::Kind kind;
  std::string op;
  std::uint32_t line;
  std::uint64_t begin_ns, end_ns, correlation;
  std::int64_t bytes;
  int stream;
};
std::vector<OpenClEvent> opencl_events(Profile& profile, ProfileEvent::Kind kind) {
  std::vector<OpenClEvent> found;
  profile.each([&](const ProfileEvent& e) {
    if (e.device == kOpenCl && e.kind == kind)
      found.push_back({e.kind, e.op, e.site.line(), e.begin_ns, e.end_ns, e.correlation, e.bytes, e.stream});
  });
  std::ranges::sort(found, {}, &OpenClEvent::correlation);
  return found;
}

class OpenClProfile : public testing::Test {
 protected:
  void SetUp() override {
    for (const DeviceInfo& info : devices())
      if (info.device == kOpenCl && !info.refusal.empty()) GTEST_SKIP() << info.refusal;
    synchronize(kOpenCl);
  }
};

// How far the clocks may be apart: a thread may lose its core while they are read.
constexpr std::uint64_t kClockNs = 1'000'000;

TEST_F(OpenClProfile, KernelsAndCopiesHaveTheTimesOfTheDevice) {
  const NoGrad no_grad;
  const Tensor x = randn({300, 400}).to(kOpenCl), w = randn({400, 200}).to(kOpenCl);
  const auto program = [&] { return relu(matmul(x.to(kBF16), w.to(kBF16))); };
  program();  // builds the kernels
  synchronize(kOpenCl);
  Profile profile;
  const auto began = std::chrono::steady_clock::now();
  const Tensor y = program();
  const std::uint32_t line = __LINE__ - 1;
  const Tensor there = ones({1000}).to(kOpenCl);
  synchronize(kOpenCl);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
  profile.stop();
  const auto launches = opencl_events(profile, ProfileEvent::Kind::Launch),
             kernels = opencl_events(profile, ProfileEvent::Kind::Kernel),
             copies = opencl_events(profile, ProfileEvent::Kind::Copy);
  // A bf16 matmul converts its factors first: these kernels are part of it.
  ASSERT_EQ(kernels.size(), 4U);
  ASSERT_EQ(copies.size(), 1U);
  ASSERT_EQ(launches.size(), 5U);
  EXPECT_EQ(copies[0].bytes, 4000);
  std::uint64_t total_ns = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].correlation, launches[i].correlation);
    EXPECT_EQ(kernels[i].stream, 0);
    EXPECT_GT(kernels[i].end_ns, kernels[i].begin_ns);
    EXPECT_GE(kernels[i].begin_ns + kClockNs, launches[i].begin_ns);
    if (i > 0) {  // one stream runs them in order
      EXPECT_GE(kernels[i].begin_ns, kernels[i - 1].end_ns);
    }
    total_ns += kernels[i].end_ns - kernels[i].begin_ns;
  }
  EXPECT_GE(copies[0].begin_ns, kernels.back().end_ns);
  EXPECT_EQ(kernels.back().op, "relu");
  EXPECT_LE(kernels.back().line, line);
  EXPECT_GT(kernels[2].end_ns - kernels[2].begin_ns, kernels[3].end_ns - kernels[3].begin_ns);  // the matmul
  EXPECT_LE(total_ns, static_cast<std::uint64_t>(took.count()));
}

TEST_F(OpenClProfile, PlansHaveAKernelForEachStep) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& a) { return softmax(gelu(a) * 2, -1).t().contiguous(); });
  const Tensor x = randn({64, 64}).to(kOpenCl);
  const auto wanted = test::bytes_of(fast(x).to(kCpu));
  for (int turn = 0; turn < 2; ++turn) {  // the queue changes with each profile
    Profile profile;
    const Tensor y = fast(x);
    profile.stop();
    EXPECT_EQ(opencl_events(profile, ProfileEvent::Kind::Kernel).size(), fast.kernels(x).size());
    EXPECT_EQ(test::bytes_of(y.to(kCpu)), wanted);
  }
}

TEST_F(OpenClProfile, EachStreamHasItsTimes) {
  const Tensor x = ones({1000}, {kF32, kOpenCl});
  static_cast<void>(x + x);
  synchronize(kOpenCl);
  Profile profile;
  constexpr int kCalls = 600;
  for (int i = 0; i < kCalls; ++i) {
    const StreamScope scope(Stream(kOpenCl, i % 2));
    static_cast<void>(x + x);
  }
  profile.stop();
  const auto kernels = opencl_events(profile, ProfileEvent::Kind::Kernel);
  ASSERT_EQ(kernels.size(), std::size_t{kCalls});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].stream, static_cast<int>(i % 2));
    if (i >= 2) {
      EXPECT_GE(kernels[i].begin_ns, kernels[i - 2].end_ns);
    }
  }
}

}  // namespace
}  // namespace pel
