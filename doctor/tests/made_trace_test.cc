// The generator of traces keeps its word: what it says of a trace is in it.
#include "doctor/tests/made_trace.h"

#include <map>

#include <gtest/gtest.h>

#include "doctor/readers/kineto.h"
#include "doctor/tests/sources.h"

namespace pel::doctor {
namespace {

using test::MadeSource, test::TracePlan, test::TraceTruth;

TEST(MadeTrace, HasWhatItSays) {
  TracePlan full;
  full.has_python = full.has_memory = full.has_shapes = true;
  full.graphs_per_step = 2;
  full.kernels_per_graph = 5;
  full.collectives_per_step = 3;
  full.world_size = 2;
  full.loader_ns = 70000;
  full.streams = 3;
  full.jitter_percent = 20;
  for (const TracePlan& plan : {TracePlan{}, full}) {
    TraceTruth truth;
    const std::string text = test::made_trace(plan, &truth);
    EXPECT_EQ(truth.bytes, text.size());
    test::TextSource source(text, 1 << 20);
    std::int64_t kernel_ns = 0, wait_ns = 0;
    std::map<std::int64_t, std::int64_t> stream_ends;
    const TraceSummary summary = read_kineto(source, [&](const TraceEvent& e) {
      if (e.category == Category::Kernel || e.category == Category::Memcpy) {
        EXPECT_GE(e.begin_ns, stream_ends[e.thread.number]) << e.json;  // one after the other
        stream_ends[e.thread.number] = e.begin_ns + e.duration_ns;
      }
      if (e.category == Category::Kernel) kernel_ns += e.duration_ns;
      if (e.name == "cudaStreamSynchronize") wait_ns += e.duration_ns;
    });
    EXPECT_EQ(summary.events, static_cast<std::uint64_t>(truth.events));
    const auto count = [&](Category category) { return static_cast<std::int64_t>(summary.count(category)); };
    EXPECT_EQ(count(Category::CpuOp), truth.ops);
    EXPECT_EQ(count(Category::Kernel), truth.kernels);
    EXPECT_EQ(count(Category::Memcpy), truth.copies);
    EXPECT_EQ(count(Category::Runtime), truth.launches + truth.graph_launches + truth.copies + truth.syncs);
    EXPECT_EQ(count(Category::PythonFunction), truth.python_functions);
    EXPECT_EQ(count(Category::CpuInstant), truth.memory_events);
    EXPECT_EQ(count(Category::LaunchFlow) + count(Category::BackwardFlow), truth.flows);
    EXPECT_EQ(kernel_ns, truth.kernel_ns);
    EXPECT_EQ(wait_ns, truth.wait_ns);
    EXPECT_TRUE(summary.base_time_ns.has_value());
    EXPECT_EQ(truth.steps, plan.steps);
  }
}

TEST(MadeTrace, IsTheSameForTheSamePlan) {
  const TracePlan plan{.seed = 7, .jitter_percent = 30};
  EXPECT_EQ(test::made_trace(plan), test::made_trace(plan));
  EXPECT_NE(test::made_trace(plan), test::made_trace({.seed = 8, .jitter_percent = 30}));
}

TEST(MadeTrace, ASourceIsAsLongAsIsAskedFor) {
  MadeSource source({.steps = 1}, 3 << 20);
  const TraceSummary summary = read_kineto(source, [](const TraceEvent&) {});
  EXPECT_GE(summary.bytes, std::uint64_t{3} << 20);
  EXPECT_LT(summary.bytes, std::uint64_t{4} << 20);
  EXPECT_EQ(summary.bytes, source.truth().bytes);
  EXPECT_EQ(summary.events, static_cast<std::uint64_t>(source.truth().events));
}

TEST(MadeTrace, OthersWaitForTheRankThatIsLate) {
  TracePlan plan;
  plan.collectives_per_step = 1;
  plan.world_size = 2;
  plan.late_rank = 1;
  plan.late_ns = 30000;
  const auto longest = [&](int rank) {
    plan.rank = rank;
    test::TextSource source(test::made_trace(plan), 1 << 20);
    std::int64_t ns = 0;
    read_kineto(source, [&](const TraceEvent& e) {
      if (e.category == Category::Kernel && e.has(ArgText::CollectiveName)) ns = std::max(ns, e.duration_ns);
    });
    return ns;
  };
  EXPECT_EQ(longest(0), plan.collective_ns + plan.late_ns);
  EXPECT_EQ(longest(1), plan.collective_ns);
}

}  // namespace
}  // namespace pel::doctor
