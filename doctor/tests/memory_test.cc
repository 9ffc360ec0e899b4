// Allocations in columns, and the peak of memory.
#include <limits>

#include <gtest/gtest.h>

#include "doctor/model/memory_events.h"
#include "doctor/tests/found.h"

namespace pel::doctor {
namespace {

using test::found_in;
using test::number_at;
using test::text_at;
using test::TraceText;

TEST(MemoryEvents, ComeBackAsTheyWere) {
  constexpr std::int64_t kLarge = std::numeric_limits<std::int64_t>::max() - 7;
  const MemoryEvent all[] = {
      {100, 4096, 512, 512, 2048, 3, 1, 0},
      {100, kNoNumber, 64, kNoNumber, kNoNumber, 4, 0, -1},
      {std::int64_t{1} << 60, 8192, kLarge, kLarge, kLarge, 3, 1, 0},
      {90, 8192, -kLarge, 512, 2048, 4, 1, 0},
      {95, -5, 0, -kLarge, 2048, 4, 1, 1},
      {96, 1, 7, kNoNumber, 2048, 4, 1, 1},
      {97, 2, -7, 3, kNoNumber, 4, 1, 1},
  };
  MemoryEvents events;
  for (const MemoryEvent& event : all) events.push_back(event);
  ASSERT_EQ(events.size(), std::size(all));
  EXPECT_FALSE(events.is_in_order());
  std::size_t i = 0;
  events.each([&](const MemoryEvent& event) {
    SCOPED_TRACE(i);
    EXPECT_EQ(event.time_ns, all[i].time_ns);
    EXPECT_EQ(event.address, all[i].address);
    EXPECT_EQ(event.bytes, all[i].bytes);
    EXPECT_EQ(event.allocated, all[i].allocated);
    EXPECT_EQ(event.reserved, all[i].reserved);
    EXPECT_EQ(event.row, all[i].row);
    EXPECT_EQ(event.device_type, all[i].device_type);
    EXPECT_EQ(event.device, all[i].device);
    ++i;
  });
}

TraceText step_with_memory() {
  return TraceText()
      .annotation(1, "ProfilerStep#0", 100, 900)
      .op(1, "aten::linear", 110, 50)
      .op(1, "aten::addmm", 115, 40)
      .op(1, "aten::empty", 118, 5)
      .memory(1, 120, 4096, 1000, 6000, 8000)
      .op(1, "aten::relu", 200, 50)
      .memory(1, 210, 8192, 500, 6500, 8000)
      .memory(1, 215, 12288, 200, 6700, 8000)
      .memory(1, 220, 12288, -200, 6500, 8000)
      .op(2, "autograd::engine::evaluate_function: ReluBackward0", 300, 90)
      .memory(2, 310, 16384, 700, 7200, 9000)
      .memory(2, 320, 8192, -500, 6700, 9000)
      .annotation(1, "Optimizer.step#SGD.step", 500, 50)
      .memory(1, 510, 20480, 100, 6800, 9000)
      .memory(1, 520, 4096, -1000, 5800, 9000);
}

TEST(Memory, PeakIsWhatIsLiveThen) {
  const Finding finding = found_in(step_with_memory(), "memory");
  EXPECT_EQ(number_at(finding, "peak_bytes"), 7200);
  EXPECT_EQ(number_at(finding, "peak_at_ns"), 210'000);
  EXPECT_EQ(number_at(finding, "reserved_bytes"), 9000);
  EXPECT_EQ(number_at(finding, "unused_bytes"), 1800);
  EXPECT_EQ(number_at(finding, "unused"), 20);
  EXPECT_EQ(number_at(finding, "allocations"), 5);
  EXPECT_EQ(number_at(finding, "frees"), 3);
  EXPECT_EQ(text_at(finding, "categories", 0, "category"), "allocated before the trace: weights and state");
  EXPECT_EQ(number_at(finding, "categories", 0, "bytes"), 5000);
  EXPECT_EQ(text_at(finding, "categories", 1, "category"), "activations");
  EXPECT_EQ(number_at(finding, "categories", 1, "bytes"), 1500);
  EXPECT_EQ(text_at(finding, "categories", 2, "category"), "gradients");
  EXPECT_EQ(number_at(finding, "categories", 2, "bytes"), 700);
  EXPECT_EQ(text_at(finding, "live", 0, "op"), "aten::addmm");  // not aten::empty
  EXPECT_EQ(number_at(finding, "live", 0, "bytes"), 1000);
  EXPECT_EQ(number_at(finding, "curve", 0, "allocated_bytes"), 6000);
}

TEST(Memory, WithoutTotalsAndAddressesCountsFromTheFirstEvent) {
  const char* const device = R"("Device Type": 1, "Device Id": 0, "Bytes": )";
  const Finding finding = found_in(TraceText()
                                       .op(1, "aten::relu", 0, 100)
                                       .instant(1, 30, device + std::string("-100"))
                                       .instant(1, 10, device + std::string("300"))
                                       .instant(1, 20, device + std::string("200")),
                                   "memory");
  EXPECT_EQ(number_at(finding, "peak_bytes"), 500);  // by time, not in the order of the document
  EXPECT_EQ(number_at(finding, "peak_at_ns"), 20'000);
  EXPECT_TRUE(std::isnan(number_at(finding, "reserved_bytes")));
  EXPECT_EQ(finding.sentences.size(), 2u);
  for (const Table& table : finding.tables) EXPECT_EQ(table.key, "curve");
}

TEST(Memory, OfNumbersThatNoDeviceHasIsReported) {
  const std::string most = "9223372036854775807";
  TraceText trace;
  for (int i = 0; i < 3; ++i)
    trace.instant(1, 10 + i,
                  fmt::format(R"("Addr": {}, "Bytes": {}, "Device Type": 1, "Device Id": 0)", i, most));
  trace.instant(1, 1e15, fmt::format(R"("Addr": 1, "Bytes": -{}, "Device Type": 1, "Device Id": 0)", most));
  EXPECT_EQ(number_at(found_in(trace, "memory"), "peak_bytes"), static_cast<double>(kMaxSum));
}

TEST(Memory, CurveHasThePeakHoweverLongTheTraceIs) {
  TraceText trace;
  trace.op(1, "aten::relu", 0, 10'000);
  for (int i = 0; i < 5000; ++i) trace.memory(1, i, i, 1, i == 1234 ? 99'999 : i, 100'000);
  const Finding finding = found_in(trace, "memory");
  const Table& curve = finding.tables.back();
  EXPECT_EQ(curve.key, "curve");
  EXPECT_LE(curve.rows.size(), 200u);
  EXPECT_GE(curve.rows.size(), 150u);
  EXPECT_EQ(std::ranges::count_if(curve.rows,
                                  [](const auto& row) { return row[1] == Value(std::int64_t{99'999}); }),
            1);
}

}  // namespace
}  // namespace pel::doctor
