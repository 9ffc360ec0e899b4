// The reader: what it makes of an event, both schemas, metadata on either side, and broken documents.
#include "doctor/readers/kineto.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pellucid/error.h"

#include "doctor/tests/sources.h"

namespace pel::doctor {
namespace {

struct Read {
  TraceSummary summary;
  std::vector<std::string> names;
};

Read read(const std::string& text, Reading reading = Reading::Strict, std::size_t block_bytes = 4 << 20,
          std::size_t longest_piece_bytes = 64 << 20) {
  test::TextSource source(text, 1000);
  ReadOptions options;
  options.reading = reading;
  options.block_bytes = block_bytes;
  options.longest_piece_bytes = longest_piece_bytes;
  Read read;
  read.summary = read_kineto(source, [&](const TraceEvent& e) { read.names.emplace_back(e.name); }, options);
  return read;
}

template <class F>
void of_one(const std::string& event, F&& check) {
  test::TextSource source("[" + event + "]", 7);
  int count = 0;
  read_kineto(source, [&](const TraceEvent& e) {
    ++count;
    check(e);
  });
  EXPECT_EQ(count, 1);
}

std::string span(const std::string& name) {
  return R"({"ph": "X", "cat": "cpu_op", "name": ")" + name +
         R"(", "pid": 1, "tid": 2, "ts": 1.5, "dur": 2})";
}
std::string document(const std::vector<std::string>& events, const std::string& before = "",
                     const std::string& past = "") {
  std::string text = "{" + before + "\"traceEvents\": [\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + events[i];
  return text + "\n]" + past + "}";
}
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const FileError& error) {
    return error.message();
  }
  return "";
}

using EventNames = std::vector<std::string>;

TEST(ReadKineto, AKernelHasItsNumbers) {
  of_one(R"json({"ph": "X", "cat": "kernel", "name": "void k<1>(\"a\", \u00b5)", "pid": 0, "tid": 7,
             "ts": 1621401187223005.123, "dur": 0.007,
             "args": {
  "External id" : 77, "correlation" : 4099, "device" : 0, "context" : 1, "stream" : 7,
      "grid" : [ 1, 2, 3 ],
               "est. achieved occupancy %" : 31,
               "registers per thread" : 32,
               "bytes read" : 120,
               "flops" : 9,
               "Call site" : "a.cc:3",
                             "unknown" : {"stream" : 9}}})json",
         [](const TraceEvent& e) {
           EXPECT_EQ(e.phase, Phase::Span);
           EXPECT_EQ(e.category, Category::Kernel);
           EXPECT_EQ(e.name, "void k<1>(\"a\", µ)");
           EXPECT_EQ(e.process.number, 0);
           EXPECT_EQ(e.thread.number, 7);
           EXPECT_EQ(e.begin_ns, 1621401187223005123);
           EXPECT_EQ(e.duration_ns, 7);
           EXPECT_EQ(e.get(Arg::ExternalId), 77);
           EXPECT_EQ(e.get(Arg::Correlation), 4099);
           EXPECT_EQ(e.get(Arg::Stream), 7);
           EXPECT_EQ(e.get(Arg::RegistersPerThread), 32);
           EXPECT_EQ(e.get(Arg::BytesRead), 120);
           EXPECT_EQ(e.get(Arg::Flops), 9);
           EXPECT_EQ(e.call_site, "a.cc:3");
           EXPECT_FALSE(e.has(Arg::Bytes));
           EXPECT_EQ(e.get(Arg::Bytes, -5), -5);
           EXPECT_TRUE(e.json.starts_with("{\"ph\"") && e.json.ends_with("}}}"));
         });
}

TEST(ReadKineto, AKernelHasItsGridAndDecimals) {
  of_one(R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {
             "grid": [ 12,2 , 3], "block": [256, 1, 1], "blocks per SM": 0.25, "est. achieved occupancy %": 31,
             "memory bandwidth (GB/s)": 1.5e2}})json",
         [](const TraceEvent& e) {
           ASSERT_TRUE(e.has_grid && e.has_block);
           EXPECT_EQ(e.grid, (std::array<std::int64_t, 3>{12, 2, 3}));
           EXPECT_EQ(e.block, (std::array<std::int64_t, 3>{256, 1, 1}));
           EXPECT_EQ(e.get(ArgDecimal::BlocksPerMultiprocessor), 0.25);
           EXPECT_EQ(e.get(ArgDecimal::OccupancyPercent), 31);
           EXPECT_EQ(e.get(ArgDecimal::GigabytesPerSecond), 150);
         });
}

TEST(ReadKineto, AnOpHasWhatItWasCalledWith) {
  of_one(R"({"ph": "X", "cat": "cpu_op", "name": "k", "ts": 1, "dur": 2, "args": {
             "Input Dims": [[8, 16], [], [[2, 3]]], "Input type": ["float", "a]\""], "Input Strides": [[16,1]] ,
             "Concrete Inputs": ["", "2"], "Call stack": "a.py(3): f;b\n",
             "Collective name": "allreduce", "dtype": "BFloat16", "Process Group Name": "0",
             "In msg nelems": 1024, "Out msg nelems": 8192, "Group size": 8, "Seq": 5,
             "kernel_file": "/tmp/x.py"}})",
         [](const TraceEvent& e) {
           EXPECT_EQ(e.get(ArgText::InputShapes), "[[8, 16], [], [[2, 3]]]");
           EXPECT_EQ(e.get(ArgText::InputTypes), R"(["float", "a]\""])");
           EXPECT_EQ(e.get(ArgText::InputStrides), "[[16,1]]");
           EXPECT_EQ(e.get(ArgText::ConcreteInputs), R"(["", "2"])");
           EXPECT_EQ(e.get(ArgText::CallStack), "a.py(3): f;b\n");
           EXPECT_EQ(e.get(ArgText::CollectiveName), "allreduce");
           EXPECT_EQ(e.get(ArgText::ElementType), "BFloat16");
           EXPECT_EQ(e.get(ArgText::ProcessGroupName), "0");
           EXPECT_EQ(e.get(ArgText::KernelFile), "/tmp/x.py");
           EXPECT_EQ(e.get(Arg::InputElements), 1024);
           EXPECT_EQ(e.get(Arg::OutputElements), 8192);
           EXPECT_EQ(e.get(Arg::GroupSize), 8);
           EXPECT_EQ(e.get(Arg::CollectiveSequence), 5);
         });
}

TEST(ReadKineto, ArgumentsOfAnotherKindAreAbsent) {
  for (const char* grid : {"[1, 2]", "[1, 2, 3, 4]", "[]", "7", "\"1\"", "[1, x, 3]", "{}", "null"}) {
    of_one(std::string(R"({"ph": "X", "ts": 1, "dur": 2, "args": {"grid": )") + grid +
               R"(, "blocks per SM": "inf", "Input Dims": 3, "Seq": [1], "device": 4}})",
           [&](const TraceEvent& e) {
             EXPECT_FALSE(e.has_grid) << grid;
             EXPECT_FALSE(e.has_block);
             EXPECT_FALSE(e.has(ArgText::InputShapes) || e.has(ArgText::InputTypes));
             EXPECT_EQ(e.get(ArgText::InputShapes), "");
             EXPECT_FALSE(e.has(ArgDecimal::BlocksPerMultiprocessor));
             EXPECT_EQ(e.get(ArgDecimal::BlocksPerMultiprocessor, -1), -1);
             EXPECT_FALSE(e.has(Arg::CollectiveSequence));
             EXPECT_EQ(e.get(Arg::Device), 4);
           });
  }
}

TEST(ReadKineto, RowsMayHaveNames) {
  of_one(
      R"({"ph": "M", "name": "thread_name", "pid": "Spans", "tid": "stream 7", "args": {"name": "stream 7 "}})",
      [](const TraceEvent& e) {
        EXPECT_EQ(e.phase, Phase::Metadata);
        EXPECT_EQ(e.process.text, "Spans");
        EXPECT_EQ(e.thread.number, 7);
        EXPECT_EQ(e.label, "stream 7 ");
        EXPECT_FALSE(e.has_time);
      });
}

TEST(ReadKineto, NamesOf2021AreReadAsThoseOfToday) {
  const std::pair<const char*, Category> cases[] = {
      {"Operator", Category::CpuOp},   {"Runtime", Category::Runtime}, {"Kernel", Category::Kernel},
      {"Memcpy", Category::Memcpy},    {"Memset", Category::Memset},   {"async_gpu", Category::LaunchFlow},
      {"async", Category::LaunchFlow}, {"kernel", Category::Kernel},   {"something", Category::Other},
      {"cpu_op", Category::CpuOp},     {"piece", Category::Piece},
  };
  for (const auto& [text, category] : cases) {
    of_one(std::string(R"({"ph": "X", "cat": ")") + text +
               R"(", "ts": 1, "dur": 2, "args": {"external id": 3}})",
           [&](const TraceEvent& e) {
             EXPECT_EQ(e.category, category) << text;
             EXPECT_EQ(e.get(Arg::ExternalId), 3);
           });
  }
  EXPECT_TRUE(read(R"([{"ph": "X", "cat": "Kernel", "ts": 1, "dur": 2}])").summary.has_old_categories);
  const TraceSummary today =
      read(document({span("a"), R"({"ph": "X", "cat": "New", "ts": 1, "dur": 2})"})).summary;
  EXPECT_FALSE(today.has_old_categories);
  EXPECT_EQ(today.other_categories.at("New"), 1u);
}

TEST(ReadKineto, MetadataMayStandOnEitherSide) {
  const std::string base = "\"baseTimeNanoseconds\": 1711964646000000000";
  for (const auto& [before, past] :
       {std::pair<std::string, std::string>{base + ", \"distributedInfo\": {\"rank\": 3},", ""},
        {"", ", " + base + ", \"distributedInfo\": {\"rank\": 3}"}}) {
    const TraceSummary summary = read(document({span("a")}, before, past)).summary;
    EXPECT_EQ(summary.base_time_ns, 1711964646000000000);
    ASSERT_NE(summary.find("distributedInfo"), nullptr);
    EXPECT_EQ(*summary.find("distributedInfo"), "{\"rank\": 3}");
    EXPECT_EQ(summary.find("absent"), nullptr);
    EXPECT_EQ(summary.count(Phase::Span, Category::CpuOp), 1u);
  }
}

TEST(ReadKineto, TheSizeOfBlocksMakesNoDifference) {
  std::vector<std::string> events;
  EventNames names;
  for (int i = 0; i < 40; ++i) {
    names.push_back("op{" + std::to_string(i));
    events.push_back(span(names.back()));
  }
  const std::string text = document(events, "\"a\": [1, 2, {\"b\": \"]\"}],", ", \"c\": 3");
  for (std::size_t block = 1; block < 300; ++block) {
    const Read got = read(text, Reading::Strict, block);
    EXPECT_EQ(got.names, names) << block;
    EXPECT_EQ(got.summary.bytes, text.size());
    EXPECT_EQ(got.summary.metadata.size(), 2u);
  }
}

TEST(ReadKineto, StrictSaysWhereAndWhy) {
  const std::pair<std::string, std::string> cases[] = {
      {document({span("a"), "{\"ph\": \"X\"}"}), "text at byte 102: an event has no \"ts\""},
      {document({"{\"ph\": \"X\", \"ts\": 1}"}), "text at byte 18: a complete event has no \"dur\""},
      {document({"{\"ts\": 1}"}), "text at byte 18: an event has no \"ph\""},
      {document({"{\"ph\": \"X\", \"ts\": \"1\", \"dur\": 1}"}), "text at byte 18: \"ts\" is not a time"},
      {document({"{\"ph\": \"X\" \"ts\": 1}"}), "text at byte 18:"},
      {document({span("a\"b\"c")}), "text at byte 18:"},
      {document({span("a\x01")}), "text at byte 18:"},
      {document({span("a\xff")}), "text at byte 18:"},
      {document({span("a\nb")}), "text at byte 18: a line break inside a string"},
      {document({span("a")}) + "x", "text at byte 103: there is text after the end of the document"},
      {"\x1f\x8b", "text at byte 0: a trace begins with { or ["},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(refusal(text).substr(0, expected.size()), expected) << text;
}

TEST(ReadKineto, LenientLeavesOutWhatIsBrokenAndListsIt) {
  const std::string bad = "{\"ph\": \"X\", \"name\": \"a(\"b\")\", \"ts\": 1, \"dur\": 2}";
  const std::string text = document({span("one"), bad, span("two"), "{\"ph\": \"X\"}", span("three")});
  const Read got = read(text, Reading::Lenient);
  EXPECT_EQ(got.names, (EventNames{"one", "two", "three"}));
  ASSERT_EQ(got.summary.skipped.size(), 2u);
  EXPECT_EQ(got.summary.skipped[0].offset, text.find(bad));
  EXPECT_EQ(got.summary.skipped[0].bytes, bad.size());
  EXPECT_EQ(got.summary.skipped[1].reason, "an event has no \"ts\"");
  EXPECT_FALSE(got.summary.is_truncated);
}

TEST(ReadKineto, AQuoteTooManyCostsNoMoreThanItsEvent) {
  const std::string bad = "{\"ph\": \"X\", \"name\": \"a\"b\", \"ts\": 1, \"dur\": 2}";
  for (const char* separator : {",\n", ","}) {
    std::string text = "{\"traceEvents\": [";
    EventNames names;
    for (int i = 0; i < 50; ++i) {
      if (i != 0) text += separator;
      if (i % 7 == 3) {
        text += bad;
        continue;
      }
      names.push_back("op" + std::to_string(i));
      text += span(names.back());
    }
    text += "], \"traceName\": \"x\"}";
    for (const std::size_t block : {64, 100, 1000, 100000}) {
      const Read got = read(text, Reading::Lenient, block);
      EXPECT_EQ(got.names, names) << block;
      EXPECT_EQ(got.summary.skipped_count, 7u);
      EXPECT_EQ(got.summary.metadata.size(), 1u);
    }
  }
}

TEST(ReadKineto, ADocumentThatEndsEarlyIsReadSoFar) {
  const std::string text = document({span("one"), span("two")}, "", ", \"a\": 1");
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(refusal(text.substr(0, length)), "") << length;
    const Read got = read(text.substr(0, length), Reading::Lenient, 50);
    EXPECT_TRUE(got.summary.is_truncated) << length;
    const std::size_t first = text.find("}") + 1, second = text.find("}", first) + 1;
    EXPECT_EQ(got.names.size(), (length >= first) + (length >= second)) << length;
  }
}

TEST(ReadKineto, APieceWithoutEndDoesNotFillTheMemory) {
  std::string endless = "{\"ph\": \"X\", \"name\": \"";
  endless.append(1 << 16, 'x');
  const std::string text = "[" + span("a") + ",\n" + endless + ",\n" + span("b") + ",\n" + span("c") + "]";
  const Read got = read(text, Reading::Lenient, 1 << 10, 1 << 13);
  EXPECT_EQ(got.names, (EventNames{"a", "b", "c"}));
  EXPECT_EQ(got.summary.skipped_count, 1u);
  EXPECT_GT(got.summary.skipped_bytes, endless.size());
  EXPECT_THROW(read(text, Reading::Strict, 1 << 10, 1 << 13), FileError);
}

TEST(ReadKineto, LenientTakesWhateverItIsGiven) {
  std::mt19937 random(1);
  const std::string whole =
      document({span("one"), span("two\\\"{"), span("three"), span("four")},
               "\"a\": [1, {\"b\": \"]\"}], \"baseTimeNanoseconds\": 12,", ", \"c\": 3");
  const std::string_view letters = "{}[]\",:\\\n 1x\x01\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (std::size_t faults = 1 + random() % 4; faults != 0; --faults) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = letters[random() % letters.size()];
          break;
        case 1:
          text.insert(at, 1, letters[random() % letters.size()]);
          break;
        case 2:
          text.erase(at, random() % 20);
          break;
        default:
          text.insert(at, whole.substr(random() % whole.size(), random() % 40));
      }
      if (text.empty()) text = " ";
    }
    const std::size_t block = 1 + random() % 200;
    const Read got = read(text, Reading::Lenient, block, 400);
    ASSERT_EQ(got.names.size(), got.summary.events);
    ASSERT_LE(got.summary.skipped_bytes, text.size()) << text;
    bool is_refused = false;
    try {
      const Read strict = read(text, Reading::Strict, block, 400);
      ASSERT_EQ(strict.names, got.names) << text;
    } catch (const FileError&) {
      is_refused = true;
    }
    ASSERT_EQ(is_refused, got.summary.skipped_count != 0) << text;  // nothing is left out in silence
  }
}

TEST(ReadKineto, NumbersOfEachLengthAreRead) {
  for (const char* sign : {"", "-"}) {
    std::string digits;
    for (int length = 1; length < 19; ++length) {
      digits += static_cast<char>('0' + (length * 7 + 2) % 10);
      const std::int64_t expected = std::stoll(sign + digits);
      of_one(R"({"ph": "s", "id": )" + (sign + digits) + R"(, "ts": 1, "args": {"correlation": )" + sign +
                 digits + R"( , "device": 1x}})",
             [&](const TraceEvent& e) {
               EXPECT_EQ(e.id.number, expected);
               EXPECT_EQ(e.get(Arg::Correlation), expected);
               EXPECT_FALSE(e.has(Arg::Device));
             });
    }
  }
}

TEST(ReadKineto, NestingOfAMillionIsRefusedOrLeftOut) {
  const std::string deep(1000000, '[');
  for (const std::string& end : {std::string(1000000, ']'), std::string()}) {
    const std::string bad = R"({"ph": "X", "ts": 1, "dur": 2, "args": {"a": )" + deep + end + "}}";
    const std::string text = document({span("one"), bad, span("two")}, "\"a\": 1,");
    EXPECT_NE(refusal(text).find("nested too deep"), std::string::npos);
    EXPECT_EQ(read(text, Reading::Lenient).names, (EventNames{"one", "two"}));
    const std::string before = document({span("one")}, "\"a\": " + deep + end + ", ");
    EXPECT_NE(refusal(before).find("nested too deep"), std::string::npos);
    EXPECT_EQ(read(before, Reading::Lenient).names, (EventNames{"one"}));
  }
}

TEST(ReadKineto, ATextThatIsMadeToTakeLongIsGivenUp) {
  std::string text = "[" + span("one");
  for (int i = 0; i < 200; ++i) text += ",{\"ph\"";  // each reaches to the end
  text.append(std::size_t{1} << 20, ' ');
  ReadOptions options;
  options.reading = Reading::Lenient;
  for (const bool is_patient : {true, false}) {
    options.max_wasted_bytes = std::uint64_t{is_patient ? 1000u : 100u} << 20;
    test::TextSource source(text, 1 << 20);
    const TraceSummary summary = read_kineto(source, [](const TraceEvent&) {}, options);
    EXPECT_EQ(summary.events, 1u);
    EXPECT_TRUE(summary.is_truncated);
    EXPECT_EQ(summary.skipped.back().reason == "too much of the document is broken to continue", !is_patient);
  }
}

TEST(ReadKineto, EventsNeedNotBeginWithTheSameKey) {
  std::vector<std::string> events;
  EventNames names;
  for (int i = 0; i < 3000; ++i) {
    names.push_back("op" + std::to_string(i));
    const std::string name = "\"name\": \"" + names.back() + "\"", rest = "\"ts\": 1, \"dur\": 2";
    events.push_back(i < 1000 || i % 3 == 0 ? "{\"ph\": \"X\", " + name + ", " + rest + "}"
                                            : "{" + name + ", \"ph\": \"X\", " + rest + "}");
  }
  for (const std::size_t block : {300, 10000, 1000000})
    EXPECT_EQ(read(document(events), Reading::Strict, block).names, names);
}

TEST(ReadKineto, NoFileIsAnError) {
  EXPECT_THROW(read_kineto("/nowhere/trace.json", [](const TraceEvent&) {}), FileError);
}

}  // namespace
}  // namespace pel::doctor
