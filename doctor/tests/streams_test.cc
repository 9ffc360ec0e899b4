// What each stream did, and how much of collectives other activity hides.
#include <gtest/gtest.h>

#include "doctor/diagnosis/examination.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::TraceText;

Finding stream_finding(const TraceText& trace, std::optional<Finding> (*analyse)(const Examined&)) {
  test::TextSource source(trace.text(), 1000);
  const Examination examination(source);
  return analyse(examination.examined()).value();
}

// Stream 7 runs from 10 to 30 and from 50 to 60, launched at 1, 2 and 40; stream 9 from 20 to 45.
TraceText two_streams() {
  TraceText trace;
  trace.call(1, "cudaLaunchKernel", 1, 0.5, 1).kernel(7, "void add_kernel()", 10, 10, 1);
  trace.call(1, "cudaLaunchKernel", 2, 0.5, 2).kernel(7, "void add_kernel()", 20, 10, 2);
  trace.call(1, "cudaLaunchKernel", 3, 0.5, 3)
      .kernel(9, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 20, 25, 3);
  trace.call(1, "cudaLaunchKernel", 40, 0.5, 4).kernel(7, "void add_kernel()", 50, 10, 4);
  return trace;
}

TEST(Streams, HaveGapsOfTheirOwnAndAQueue) {
  const Finding finding = stream_finding(two_streams(), analyse_dispatch);
  const Table& table = finding.tables.at(1);
  ASSERT_EQ(table.key, "streams");
  ASSERT_EQ(table.rows.size(), 2);
  using Row = std::vector<Value>;
  // Two wait from 2 to 10, one from 1 to 2, from 10 to 20 and from 40 to 50: 37 in 49 µs.
  EXPECT_EQ(table.rows[0], (Row{std::int64_t{0}, std::int64_t{7}, std::int64_t{3}, std::int64_t{30'000},
                                std::int64_t{20'000}, std::int64_t{20'000}, 37.0 / 49.0, std::int64_t{2}}));
  EXPECT_EQ(table.rows[1], (Row{std::int64_t{0}, std::int64_t{9}, std::int64_t{1}, std::int64_t{25'000},
                                std::int64_t{0}, std::int64_t{0}, 1.0, std::int64_t{1}}));
}

TEST(Streams, HideCollectivesOfEachOther) {
  const Finding finding = stream_finding(two_streams(), analyse_device_time);
  const auto fact = [&](std::string_view key) {
    for (const Fact& f : finding.facts)
      if (f.key == key) return f.value;
    return Value();
  };
  EXPECT_EQ(fact("collectives_ns"), Value(std::int64_t{25'000}));
  EXPECT_EQ(fact("collectives_hidden"), Value(40.0));  // from 20 to 30 of 20 to 45
}

}  // namespace
}  // namespace pel::doctor
