// What the profiler writes is what the reader reads.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"
#include "pellucid/threads.h"

#include "doctor/readers/kineto.h"
#include "support/environment.h"

namespace pel::doctor {
namespace {

using EventKind = ProfileEvent::Kind;

// What a trace must have, counted in the profile.
struct Wanted {
  std::uint64_t ops = 0, annotations = 0, kernels = 0, memory = 0, pieces = 0, forward = 0, backward = 0;
  std::uint64_t kernel_ns = 0, op_ns = 0, bytes_read = 0, flops = 0;
};

Wanted wanted_of(Profile& profile) {
  Wanted wanted;
  profile.each([&](const ProfileEvent& e) {
    const bool is_op = e.kind == EventKind::Op || e.kind == EventKind::Backward;
    wanted.ops += is_op;
    wanted.kernels += e.kind == EventKind::Kernel;
    wanted.memory += e.kind == EventKind::Memory;
    wanted.pieces += e.kind == EventKind::Piece;
    wanted.annotations +=
        !is_op && e.kind != EventKind::Kernel && e.kind != EventKind::Memory && e.kind != EventKind::Piece;
    if (e.sequence != 0) ++(e.kind == EventKind::Backward ? wanted.backward : wanted.forward);
    if (is_op) wanted.op_ns += e.end_ns - e.begin_ns;
    if (e.kind == EventKind::Kernel) {
      wanted.kernel_ns += e.end_ns - e.begin_ns;
      wanted.bytes_read += e.bytes_read;
      wanted.flops += e.flops;
    }
  });
  return wanted;
}

void expect_same(const Wanted& wanted, const std::string& path) {
  std::uint64_t kernel_ns = 0, op_ns = 0, bytes_read = 0, flops = 0;
  const TraceSummary summary = read_kineto(path, [&](const TraceEvent& e) {
    if (e.category == Category::CpuOp) op_ns += static_cast<std::uint64_t>(e.duration_ns);
    if (e.category != Category::Kernel) return;
    kernel_ns += static_cast<std::uint64_t>(e.duration_ns);
    bytes_read += static_cast<std::uint64_t>(e.get(Arg::BytesRead));
    flops += static_cast<std::uint64_t>(e.get(Arg::Flops));
  });
  EXPECT_EQ(summary.count(Phase::Span, Category::CpuOp), wanted.ops);
  EXPECT_EQ(summary.count(Phase::Span, Category::UserAnnotation), wanted.annotations);
  EXPECT_EQ(summary.count(Phase::Span, Category::Kernel), wanted.kernels);
  EXPECT_EQ(summary.count(Phase::Span, Category::Runtime), wanted.kernels);
  EXPECT_EQ(summary.count(Phase::FlowStart, Category::LaunchFlow), wanted.kernels);
  EXPECT_EQ(summary.count(Phase::FlowEnd, Category::LaunchFlow), wanted.kernels);
  EXPECT_EQ(summary.count(Phase::Instant, Category::CpuInstant), wanted.memory);
  EXPECT_EQ(summary.count(Phase::Span, Category::Piece), wanted.pieces);
  EXPECT_EQ(summary.count(Phase::FlowStart, Category::BackwardFlow), wanted.forward);
  EXPECT_EQ(summary.count(Phase::FlowEnd, Category::BackwardFlow), wanted.backward);
  EXPECT_EQ(summary.events, wanted.ops + wanted.annotations + wanted.memory + wanted.pieces +
                                4 * wanted.kernels + wanted.forward + wanted.backward +
                                summary.count(Phase::Metadata));
  EXPECT_EQ(kernel_ns, wanted.kernel_ns);
  EXPECT_EQ(op_ns, wanted.op_ns);
  EXPECT_EQ(bytes_read, wanted.bytes_read);
  EXPECT_EQ(flops, wanted.flops);
  EXPECT_EQ(summary.skipped_count, 0u);
}

TEST(RoundTrip, ATraceOfTrainingHasTheCountsAndTimesOfItsProfile) {
  const nn::GEGLU mlp(16, 32);
  const Tensor x = ones({4, 16});
  ProfileOptions options;
  options.layers = options.memory = true;
  Profile profile(options);
  for (int step = 0; step < 3; ++step) {
    const Range range("step {\"\\\n");
    sum(mlp(x)).backward();
  }
  std::jthread([&] { neg(x); }).join();
  const int threads = thread_count();
  set_thread_count(2);
  neg(zeros({1 << 20}));
  set_thread_count(threads);
  const std::string path = testing::TempDir() + "pellucid_round_trip.json";
  profile.write_trace(path);
  const Wanted wanted = wanted_of(profile);
  EXPECT_GT(wanted.kernels, 30u);
  EXPECT_GT(wanted.backward, 10u);
  EXPECT_GT(wanted.memory, 0u);
  EXPECT_GT(wanted.pieces, 0u);
  expect_same(wanted, path);
}

// The highest use of memory since it was last asked for, in bytes; 0 where the kernel does not tell.
std::int64_t peak_since_last() {
  std::int64_t peak = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) peak = std::stoll(line.substr(6)) * 1024;
  }
  std::ofstream("/proc/self/clear_refs") << "5";
  return peak;
}

// PELLUCID_TRACE_EVENTS=10000000 records ten million events: 1.2 GB of records, 5 GB of trace, removed at the
// end.
TEST(RoundTrip, ALongTraceIsWrittenAndReadInBoundedMemory) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const auto events =
      static_cast<std::int64_t>(test::number_from("PELLUCID_TRACE_EVENTS", 300'000)) / test::test_share();
  const std::string path = testing::TempDir() + "pellucid_long_trace.json";
  Wanted wanted;
  {
    const Tensor a = ones({4, 6}), b = ones({6});
    ProfileOptions options;
    options.max_bytes = (std::int64_t{4} << 20) + events * 160;
    Profile profile(options);
    const auto begin = Clock::now();
    for (std::int64_t i = 0; i < events / 2; ++i) add(a, b);  // an op and its kernel
    profile.stop();
    fmt::print("{} events recorded at {:.1f} million a second, in {} MB\n", profile.event_count(),
               static_cast<double>(events) / seconds_since(begin) / 1e6, profile.bytes_used() >> 20);
    EXPECT_EQ(profile.dropped(), 0u);
    EXPECT_EQ(profile.event_count(), static_cast<std::uint64_t>(events / 2 * 2));
    EXPECT_LE(profile.bytes_used(), options.max_bytes);
    const std::int64_t before = peak_since_last();
    const auto export_begin = Clock::now();
    profile.write_trace(path);
    const double seconds = seconds_since(export_begin);
    const auto size = static_cast<double>(std::filesystem::file_size(path));
    const std::int64_t peak = peak_since_last();
    fmt::print("written: {:.0f} MB at {:.0f} MB/s; {} MB of memory, {} MB before\n", size / 1e6,
               size / 1e6 / seconds, peak >> 20, before >> 20);
    EXPECT_LT(peak - before, std::int64_t{16} << 20);
    wanted = wanted_of(profile);
  }
  peak_since_last();
  const std::int64_t before = peak_since_last();
  const auto begin = Clock::now();
  expect_same(wanted, path);
  const double seconds = seconds_since(begin);
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  const std::int64_t peak = peak_since_last();
  fmt::print("read: {:.0f} MB/s; {} MB of memory, {} MB before\n", size / 1e6 / seconds, peak >> 20,
             before >> 20);
  EXPECT_LT(peak - before, std::int64_t{32} << 20);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace pel::doctor
