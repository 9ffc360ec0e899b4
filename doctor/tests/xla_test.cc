// Traces of JAX: a real one of a CPU, and GPU runs that are made by the published schema.
#include "doctor/readers/xla.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "doctor/tests/made_run.h"
#include "doctor/tests/same_run.h"

namespace pel::doctor {
namespace {

// A few events of a trace that JAX 0.10.2 wrote on a CPU: three calls of a jitted function.
constexpr const char* kRealEvents =
    R"json({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
{"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
{"ph":"M","pid":701,"name":"process_sort_index","args":{"sort_index":701}},
{"ph":"M","pid":701,"tid":943786624,"name":"thread_name","args":{"name":"tf_XLAPjRtCpuClient/2147591375313504896"}},
{"ph":"M","pid":701,"tid":1112964661,"name":"thread_name","args":{"name":"python"}},
{"ph":"X","pid":701,"tid":1112964661,"ts":79.488,"dur":9.784,"name":"$profiler.py:385 __init__"},
{"ph":"X","pid":701,"tid":1112964661,"ts":88.336,"dur":3913.566,"name":"train","args":{"step_num":"0"}},
{"ph":"X","pid":701,"tid":1112964661,"ts":92.623,"dur":3900.997,"name":"forward"},
{"ph":"X","pid":701,"tid":1112964661,"ts":96.011,"dur":169.362,"name":"PjitFunction(<lambda>)"},
{"ph":"X","pid":701,"tid":1112964661,"ts":220.896,"dur":1e-06,"name":"ThreadpoolListener::Record","args":{"_src":"threadpool_listener.cc"}},
{"ph":"X","pid":701,"tid":943786624,"ts":486.616,"dur":1234.027,"name":"ynn_fusion","args":{"device_ordinal":"0","hlo_module":"jit__lambda","hlo_op":"ynn_fusion","run_id":"297347481"}},
{"ph":"X","pid":701,"tid":943786624,"ts":1716.164,"dur":3.007,"name":"end: ynn_fusion","args":{"_src":"thunk_executor.cc"}},
{}]})json";

TEST(XlaEvents, ARealTraceOfACpuIsReadWhole) {
  test::TextSource source(kRealEvents, 100);
  std::map<std::string, Category> seen;
  const TraceSummary summary = read_kineto(source, [&](const TraceEvent& e) {
    if (e.phase == Phase::Span) seen[std::string(e.name)] = e.category;
  });
  EXPECT_EQ(summary.events, 11u);  // the empty one at the end is not one
  EXPECT_EQ(summary.skipped_count, 0u);
  const std::map<std::string, Category> expected = {{"profiler.py:385 __init__", Category::PythonFunction},
                                                    {"ProfilerStep#0 (train)", Category::UserAnnotation},
                                                    {"forward", Category::CpuOp},
                                                    {"PjitFunction(<lambda>)", Category::CpuOp},
                                                    {"ThreadpoolListener::Record", Category::None},
                                                    {"ynn_fusion", Category::CpuOp},
                                                    {"end: ynn_fusion", Category::None}};
  EXPECT_EQ(seen, expected);
  test::TextSource again(kRealEvents, 100);
  const Examination examination(again);
  EXPECT_TRUE(examination.model().has_marked_steps());
  EXPECT_EQ(diagnose(examination).verdict.bound, Bound::CpuOnly);
}

// Made by schema, no real file: no GPU's trace could be had.
TEST(XlaEvents, ARunOfAGpuIsDiagnosedAsThatOfPyTorch) {
  for (const test::TraceText& run :
       {test::mixed_run(3), test::MadeRun({}, 3, 40, 1).trace(),
        test::MadeRun({.kernel = 60, .sync_every = 10, .has_communication = true}, 2, 30, 2).trace()}) {
    const auto events = test::events_of(run);
    EXPECT_EQ(test::said_about(test::xla_of(events)), test::said_about(test::kineto_of(events, "", "train")));
  }
}

TEST(XlaEvents, AKernelHasItsDetails) {
  const std::string text = R"json([{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:GPU:2 X"}},
    {"ph":"M","pid":3,"tid":9,"name":"thread_name","args":{"name":"Stream #17(Compute)"}},
    {"ph":"X","pid":3,"tid":9,"ts":1.5,"dur":2,"name":"loop_fusion","args":{"correlation_id":"77","kernel_details":
    "regs:40 static_shared:16 dynamic_shared:1024 grid:3,2,1 block:256,1,1 occ_pct:62.5","hlo_op":"fusion.1"}}])json";
  test::TextSource source(text, 100);
  int kernels = 0;
  read_kineto(source, [&](const TraceEvent& e) {
    if (e.phase != Phase::Span) return;
    ++kernels;
    EXPECT_EQ(e.category, Category::Kernel);
    EXPECT_EQ(e.get(Arg::Device), 2);
    EXPECT_EQ(e.get(Arg::Stream), 17);
    EXPECT_EQ(e.get(Arg::Correlation), 77);
    EXPECT_EQ(e.get(Arg::RegistersPerThread), 40);
    EXPECT_EQ(e.get(Arg::SharedMemory), 1040);
    EXPECT_EQ(e.get(ArgDecimal::OccupancyPercent), 62.5);
    EXPECT_TRUE(e.has_grid && e.has_block);
    EXPECT_EQ(e.grid, (std::array<std::int64_t, 3>{3, 2, 1}));
    EXPECT_EQ(e.block, (std::array<std::int64_t, 3>{256, 1, 1}));
  });
  EXPECT_EQ(kernels, 1);
}

TEST(XlaEvents, WithBrokenDetailsAreKernelsAllTheSame) {
  for (const char* details : {"", "grid", "grid:", "grid:1", "grid:1,2", "grid:1,2,3,4", "grid:a,b,c",
                              "regs:x", "regs:99999999999999999999", "  grid:1,2,3"}) {
    const std::string text = fmt::format(
        R"([{{"ph":"M","pid":3,"name":"process_name","args":{{"name":"/device:GPU:0"}}}},
    {{"ph":"M","pid":3,"tid":9,"name":"thread_name","args":{{"name":"Stream #"}}}},
    {{"ph":"X","pid":3,"tid":9,"ts":1,"dur":2,"name":"k","args":{{"kernel_details":"{}"}}}}])",
        details);
    test::TextSource source(text, 100);
    const TraceSummary summary = read_kineto(source, [](const TraceEvent&) {});
    EXPECT_EQ(summary.count(Category::Kernel), 1u) << details;
  }
}

}  // namespace
}  // namespace pel::doctor
