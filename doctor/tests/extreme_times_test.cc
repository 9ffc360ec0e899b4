// Times and sizes at the ends of their range: sums saturate, and nothing overflows. Under UBSan an overflow
// is an error.
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "doctor/analyses/launch_pace.h"
#include "doctor/compare/diff.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/ranks/compare_ranks.h"
#include "doctor/report/html.h"
#include "doctor/report/json.h"
#include "doctor/report/text.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

constexpr double kLate = 2.3e15, kLong = 2.3e15;  // microseconds

Examination examine(const test::TraceText& trace) {
  test::TextSource source(trace.text(), 1000);
  return Examination(source);
}

const Finding* find(const Diagnosis& diagnosis, std::string_view key) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.key == key) return &finding;
  }
  return nullptr;
}

std::int64_t fact(const Diagnosis& diagnosis, std::string_view finding, std::string_view key) {
  const Finding* found = find(diagnosis, finding);
  if (found == nullptr) return -1;
  for (const Fact& fact : found->facts) {
    if (fact.key == key) return std::get<std::int64_t>(fact.value);
  }
  return -1;
}

TEST(ExtremeTimes, WaitsOfTheHostSaturate) {
  test::TraceText trace;
  for (int i = 0; i < 8; ++i) trace.call(1, "cudaStreamSynchronize", i, kLong, i);
  const Diagnosis diagnosis = diagnose(examine(trace));
  EXPECT_GT(fact(diagnosis, "syncs", "waited_ns"), 0);
}

TEST(ExtremeTimes, KernelsOnManyDevicesSaturate) {
  test::TraceText trace;
  for (int device = 0; device < 8; ++device) {
    for (const double begin : {-kLate, kLate})
      trace.span("kernel", device, 7, "ampere_sgemm_128x64_nn", begin, kLong,
                 fmt::format(R"("device": {}, "stream": 7, "correlation": {})", device, device));
    trace.call(1, "cudaLaunchKernel", -kLate, 1, device);
  }
  const Diagnosis diagnosis = diagnose(examine(trace));
  EXPECT_GT(fact(diagnosis, "device_time", "span_ns"), 0);
  EXPECT_GT(fact(diagnosis, "device_time", "busy_ns"), 0);
}

TEST(ExtremeTimes, SizesOfCopiesSaturate) {
  test::TraceText trace;
  for (int i = 0; i < 4; ++i)
    trace.copy(7, "Memcpy HtoD (Pageable -> Device)", i, 1, i, R"("bytes": 9223372036854775807)");
  const Diagnosis diagnosis = diagnose(examine(trace));
  EXPECT_EQ(fact(diagnosis, "copies", "bytes"), std::numeric_limits<std::int64_t>::max());
}

TEST(ExtremeTimes, GridsOfKernelsSaturate) {
  test::TraceText trace;
  trace
      .metadata(
          R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 9223372036854775807}])")
      .kernel(
          7, "k", 0, 1, 1,
          R"("grid": [2147483647, 2147483647, 2147483647], "block": [2147483647, 2147483647, 2147483647])");
  const Diagnosis diagnosis = diagnose(examine(trace));
  EXPECT_NE(find(diagnosis, "kernels"), nullptr);
}

// Every kind of event that an analysis sums, eight of each on top of each other, at both ends of time.
test::TraceText everything_at_once(double begin) {
  test::TraceText trace;
  const std::string shapes =
      R"("Input Dims": [[9223372036854775807, 9223372036854775807], [9223372036854775807, 9223372036854775807]], "Input type": ["float", "float"])";
  trace.metadata(R"("baseTimeNanoseconds": 9223372036854775807)")
      .metadata(R"("distributedInfo": {"rank": 9223372036854775807, "world_size": 9223372036854775807})")
      .metadata(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}])");
  for (int i = 0; i < 8; ++i) {
    const int id = 10 * i;
    trace.annotation(1, "ProfilerStep#" + std::to_string(i), begin, kLong)
        .annotation(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, kLong)
        .annotation(1, "TorchDynamo Cache Lookup", begin, kLong)
        .annotation(1, "Torch-Compiled Region: 0/1", begin, kLong)
        .annotation(1, "dynamo _compile.compile_inner", begin, kLong)
        .python(1, "train.py(3): main", begin, kLong)
        .op(1, "aten::mm", begin, kLong, shapes)
        .op(1, "aten::add", begin, kLong, shapes)
        .call(1, "cudaLaunchKernel", begin, i % 2 == 0 ? kLong : 1, id + 1)
        .call(1, "cudaStreamSynchronize", begin, kLong, id + 2)
        .call(1, "cudaMalloc", begin, kLong, id + 3)
        .call(1, "cudaGraphLaunch", begin, kLong, id + 4)
        .span("overhead", 1, 1, "Buffer Flush", begin, kLong, "")
        .kernel(7 + i, "ampere_sgemm_128x64_nn", begin, kLong, id + 1)
        .kernel(7 + i, "void at::native::vectorized_elementwise_kernel<4, X>()", kLate, kLong, id + 1)
        .kernel(7 + i, "void at::native::vectorized_elementwise_kernel<4, X>()", -kLate, 1, id + 4)
        .kernel(
            30, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", -begin, kLong,
            id + 4,
            R"("Collective name": "allreduce", "Process Group Name": "0", "dtype": "Float", "Seq": 9223372036854775807, "In msg nelems": 9223372036854775807, "Group size": 9223372036854775807)")
        .copy(7, "Memcpy DtoH (Device -> Pageable)", begin, kLong, id + 2, R"("bytes": 9223372036854775807)")
        .span("gpu_memset", i, 7, "Memset (Device)", begin, kLong,
              fmt::format(R"("correlation": {})", id + 1));
  }
  return trace;
}

TEST(ExtremeTimes, EveryReportCanBeWritten) {
  for (const double begin : {-kLate, 0.0, kLate}) {
    const Examination first = examine(everything_at_once(begin)),
                      second = examine(everything_at_once(-begin));
    Report report;
    Diagnosis diagnosis = diagnose(first, {"dispatch=0.5; syncs=0; loading=0; kernels=1000", "device=A100"});
    for (Finding& finding : compare(summarize(second.examined()), summarize(first.examined())))
      diagnosis.findings.push_back(std::move(finding));
    EXPECT_FALSE(html_report(diagnosis, first.examined()).empty());
    report.traces.push_back({std::move(diagnosis)});
    std::vector<RankFacts> ranks;
    for (int i = 0; i < 4; ++i) {
      ranks.push_back(reduce_rank(i % 2 == 0 ? first.examined() : second.examined(), "rank.json"));
      ranks.back().rank = i;
    }
    report.together = compare_ranks(std::move(ranks));
    EXPECT_FALSE(json_report(report).empty());
    EXPECT_FALSE(text_report(report, Terminal{}, Detail::Full).empty());
    test::TextSource source(everything_at_once(begin).text(), 1000);
    EXPECT_GE(launch_pace(source).kernel_ns, 0);
  }
}

}  // namespace
}  // namespace pel::doctor
