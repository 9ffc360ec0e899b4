// The pace of launches, from traces whose sums are made by hand.
#include "doctor/analyses/launch_pace.h"

#include <string>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "doctor/tests/sources.h"

namespace pel::doctor {
namespace {

// Times in µs, as in a trace.
std::string span(const char* category, const std::string& name, int thread, double begin, double duration,
                 int correlation = 0) {
  return R"({"ph": "X", "cat": ")" + std::string(category) + R"(", "name": ")" + name +
         R"(", "pid": 1, "tid": )" + std::to_string(thread) + R"(, "ts": )" + std::to_string(begin) +
         R"(, "dur": )" + std::to_string(duration) + R"(, "args": {"correlation": )" +
         std::to_string(correlation) + "}},\n";
}
std::string launched(int number, double issue, double begin, double duration) {
  return span("cuda_runtime", "cudaLaunchKernel", 1, issue, 2, number) +
         span("kernel", "k", 7, begin, duration, number);
}

LaunchPace pace_of(std::string events) {
  events.resize(events.size() - 2);  // the last comma
  test::TextSource source("{\"traceEvents\": [" + events + "]}", 1000);
  return launch_pace(source);
}

TEST(LaunchPace, AnAsynchronousDeviceIsPacedFromLaunchToLaunch) {
  std::string events;
  for (int i = 0; i < 5; ++i) events += launched(i + 1, 10 * i, 10 * i + 4, 3);
  const LaunchPace pace = pace_of(events);
  EXPECT_FALSE(pace.is_synchronous);
  EXPECT_EQ(pace.launches, 5u);
  EXPECT_DOUBLE_EQ(pace.dispatch_ns, 10'000);
  EXPECT_DOUBLE_EQ(pace.kernel_ns, 3'000);
  EXPECT_DOUBLE_EQ(pace.span_ns, 47'000);
}

TEST(LaunchPace, KernelsInsideTheirLaunchesAreSynchronous) {
  std::string events;
  for (int i = 0; i < 4; ++i)
    events += span("cuda_runtime", "pelLaunchKernel", 1, 10 * i, 8, i + 1) +
              span("kernel", "k", 7, 10 * i + 1, 7, i + 1);
  const LaunchPace pace = pace_of(events);
  EXPECT_TRUE(pace.is_synchronous);
  EXPECT_DOUBLE_EQ(pace.dispatch_ns, 3'000);  // from a kernel's end to the next one's begin
  EXPECT_DOUBLE_EQ(pace.kernel_ns, 7'000);
}

TEST(LaunchPace, WaitsAndPausesAreNotDispatch) {
  std::string events = launched(1, 0, 4, 3) + launched(2, 10, 14, 3);
  events += span("cuda_runtime", "cudaStreamSynchronize", 1, 15, 500) + launched(3, 520, 524, 3);
  for (int i = 4; i < 8; ++i) events += launched(i, 100'000 + 10 * i, 100'004 + 10 * i, 3);
  const LaunchPace pace = pace_of(events);
  EXPECT_EQ(pace.pauses, 1u);
  EXPECT_DOUBLE_EQ(pace.dispatch_ns, 10'000);
}

TEST(LaunchPace, AGraphIsOneLaunchOfManyKernels) {
  std::string events;
  for (int i = 0; i < 3; ++i) {
    events += span("cuda_runtime", "cudaGraphLaunch", 1, 50 * i, 5, i + 1);
    for (int k = 0; k < 4; ++k) events += span("kernel", "k", 7, 50 * i + 10 + 2 * k, 2, i + 1);
  }
  const LaunchPace pace = pace_of(events);
  EXPECT_EQ(pace.launches, 3u);
  EXPECT_EQ(pace.kernels, 12u);
  EXPECT_DOUBLE_EQ(pace.kernel_ns, 8'000);
}

TEST(LaunchPace, StepsAreCountedWhereTheyAreMarked) {
  std::string events = span("user_annotation", "ProfilerStep#1", 1, 0, 20) +
                       span("user_annotation", "ProfilerStep#2", 1, 20, 20);
  for (int i = 0; i < 4; ++i) events += launched(i + 1, 10 * i, 10 * i + 4, 3);
  EXPECT_EQ(pace_of(events).steps, 2u);
}

TEST(LaunchPace, ATraceWithoutKernelsIsAnError) {
  EXPECT_THROW(pace_of(span("cpu_op", "aten::add", 1, 0, 5)), FileError);
}

}  // namespace
}  // namespace pel::doctor
