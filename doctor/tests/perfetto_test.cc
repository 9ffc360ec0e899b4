// Traces of Perfetto, made by schema, no real file: the same run as a trace of PyTorch must have the same
// diagnosis. Nesting, clocks, interned names; damaged traces.
#include "doctor/readers/perfetto.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "doctor/readers/protobuf.h"
#include "doctor/readers/read_trace.h"
#include "doctor/tests/made_perfetto.h"
#include "doctor/tests/made_run.h"
#include "doctor/tests/packed.h"

namespace pel::doctor {
namespace {

using test::PerfettoStyle;
using test::ProtoText;

std::vector<std::string> slices(const std::string& bytes) {
  test::TextSource source(bytes, 7);
  std::vector<std::string> seen;
  read_trace(source, [&](const TraceEvent& e) {
    seen.push_back(fmt::format("{} {} {}+{}", e.name, name(e.category), e.begin_ns, e.duration_ns));
  });
  return seen;
}

std::string packets(const std::vector<ProtoText>& all) {
  ProtoText trace;
  for (const ProtoText& packet : all) trace.message(1, packet);
  return trace.text();
}
ProtoText begin(std::uint64_t time, const char* name) {
  return ProtoText().number(8, time).number(10, 1).message(
      11, ProtoText().number(9, 1).number(11, 5).bytes(23, name));
}
ProtoText end(std::uint64_t time) {
  return ProtoText().number(8, time).number(10, 1).message(11, ProtoText().number(9, 2).number(11, 5));
}

TEST(Perfetto, ARunOfKinetoIsDiagnosedAsThatInJson) {
  for (const test::TraceText& run :
       {test::mixed_run(3), test::MadeRun({}, 3, 40, 1).trace(),
        test::MadeRun({.kernel = 60, .loading = 500, .sync_every = 10}, 2, 30, 2).trace()}) {
    const auto events = test::events_of(run);
    EXPECT_EQ(test::said_about(test::perfetto_of(events, PerfettoStyle::Kineto)),
              test::said_about(test::kineto_of(events, "", "")));
  }
}

TEST(Perfetto, ARunOfRocprofIsDiagnosedAsThatOfPyTorch) {
  for (const test::TraceText& run :
       {test::mixed_run(3), test::MadeRun({}, 3, 40, 1).trace(),
        test::MadeRun({.kernel = 60, .has_communication = true}, 2, 30, 3).trace()}) {
    auto events = test::events_of(run);
    std::erase_if(events, [](const test::RunEvent& e) { return e.category == Category::Memset; });
    auto expected = events;  // it has the product of sizes alone
    for (test::RunEvent& e : expected) {
      e.grid = {e.grid[0] * e.grid[1] * e.grid[2], 1, 1};
      e.block = {e.block[0] * e.block[1] * e.block[2], 1, 1};
      if (e.category == Category::Memcpy)
        e.name = e.name.find("DtoH") != std::string::npos ? "Memcpy DtoH (Device -> Host)"
                                                          : "Memcpy HtoD (Host -> Device)";
    }
    EXPECT_EQ(test::said_about(test::perfetto_of(events, PerfettoStyle::Rocprof)),
              test::said_about(test::kineto_of(expected, "", "step {}")));
  }
}

TEST(Perfetto, SlicesNestAndThoseWithoutAnEndAreLeftOut) {
  const std::string trace = packets({begin(100, "never"), begin(200, "outer"), begin(300, "aten::add"),
                                     end(350), end(500), end(600), end(700)});
  EXPECT_EQ(slices(trace),
            (std::vector<std::string>{"aten::add cpu_op 300+50", "outer user_annotation 200+300",
                                      "never user_annotation 100+500"}));
  EXPECT_EQ(slices(packets({begin(100, "never"), begin(200, "outer"), end(500)})),
            std::vector<std::string>{"outer user_annotation 200+300"});
}

TEST(Perfetto, AClockOfItsOwnCountsFromItsSnapshot) {
  const ProtoText snapshot = ProtoText().number(10, 1).message(
      6, ProtoText()
             .message(1, ProtoText().number(1, 3).number(2, 1'000'000))
             .message(1, ProtoText().number(1, 65).number(2, 40).number(3, 1).number(4, 1000)));
  const auto with_clock = [](ProtoText packet) { return packet.number(58, 65); };
  EXPECT_EQ(slices(packets({snapshot, with_clock(begin(5, "a")), with_clock(end(2))})),
            std::vector<std::string>{"a user_annotation 1005000+2000"});
}

TEST(Perfetto, IsReadCompressed) {
  const std::string bytes = test::perfetto_of(test::events_of(test::mixed_run(2)), PerfettoStyle::Rocprof);
  const auto source = unpacked(std::make_unique<test::TextSource>(test::gzip_of(bytes), std::size_t{1000}));
  EXPECT_EQ(test::said_about(*source), test::said_about(bytes));
}

TEST(Perfetto, IsRecognizedByItsPackets) {
  EXPECT_TRUE(looks_like_perfetto(packets({begin(1, "a")})));
  EXPECT_TRUE(looks_like_perfetto(packets({begin(1, std::string(90, 'x').c_str())})));  // 123 bytes: "\n{"
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("\n{\"traceEvents\": []}"), std::string("\n\n\n\n\n"),
        std::string("\n[{\"ph\": \"X\", \"ts\": 1, \"dur\": 2}]"),
        std::string("\x0a\x10\x12\x0e/host:metadata")})
    EXPECT_FALSE(looks_like_perfetto(text)) << text;
  // A profile of XLA consists of planes, which are fields of the same number.
  EXPECT_FALSE(looks_like_perfetto(
      packets({ProtoText().number(1, 2).bytes(2, "/host:CPU").bytes(3, "line").bytes(6, "stat")})));
}

TEST(Perfetto, WithoutSlicesIsRefused) {
  EXPECT_THROW(slices(packets({ProtoText().number(8, 5).number(10, 1)})), FileError);
}

TEST(Perfetto, DamagedTracesAreReadInPart) {
  const std::string bytes =
      test::perfetto_of(test::events_of(test::MadeRun({}, 5, 40, 1).trace()), PerfettoStyle::Rocprof);
  ReadOptions options;
  options.reading = Reading::Lenient;
  const auto read = [&](const std::string& text) {
    test::TextSource source(text, 1000);
    return read_perfetto(source, [](const TraceEvent&) {}, options);
  };
  const std::uint64_t all = read(bytes).events;
  EXPECT_EQ(read(bytes).skipped_count, 0u);
  const TraceSummary cut = read(bytes.substr(0, bytes.size() / 2));
  EXPECT_NEAR(static_cast<double>(cut.events), static_cast<double>(all) / 2, 0.1 * static_cast<double>(all));
  EXPECT_TRUE(cut.is_truncated);
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 1 << i % 6; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    const TraceSummary summary = read(damaged);
    EXPECT_LE(summary.skipped_bytes, summary.bytes);
  }
  test::TextSource source(bytes.substr(0, bytes.size() / 2), 1000);
  EXPECT_THROW(read_perfetto(source, [](const TraceEvent&) {}, {}), FileError);
}

TEST(ProtoReader, EndsWhereAMessageIsBroken) {
  using namespace std::string_view_literals;
  for (const std::string_view broken : {"\x08"sv,
                                        "\x0a\x05"
                                        "a"sv,
                                        "\x09\x01\x02"sv, "\x00\x01"sv, "\x0b"sv, "\x0f"sv,
                                        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv}) {
    ProtoReader fields(broken);
    while (fields.next()) {
    }
    EXPECT_TRUE(fields.is_broken());
  }
}

}  // namespace
}  // namespace pel::doctor
