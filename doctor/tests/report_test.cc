// The report of a diagnosis that is made here: as text, as JSON, and checked against expectations.
#include "doctor/report/report.h"

#include <sstream>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "pellucid/error.h"

#include "doctor/diagnosis/diagnose.h"
#include "doctor/report/json.h"
#include "doctor/report/make_report.h"
#include "doctor/report/markdown.h"
#include "doctor/report/readable_value.h"
#include "doctor/report/text.h"
#include "doctor/report/text_table.h"
#include "doctor/tests/trace_text.h"
#include "support/errors.h"

namespace pel::doctor {
namespace {

using test::thrown_by;

const std::string kLongName =
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)";

Diagnosis made_diagnosis() {
  Diagnosis d;
  d.path = "runs/step.json";
  d.summary.bytes = 31'000'000;
  d.summary.events = 84'123;
  d.counts.totals = {12'345, 120, 4, 0, 1};
  d.verdict = {
      Bound::Overhead,
      "The device is idle for 63.0 % of 1.20 s: for 58.1 % because the next kernel was launched too late.",
      {"A kernel runs 8 µs, and issuing one takes 15 µs: the CPU cannot keep up, however fast the device is.",
       "Compile the model, or record it as a graph."}};
  Finding time{"device_time", "Time"};
  time.facts = {{"idle", "idle", 63.0, Unit::Percent}};
  Finding syncs{"syncs", "Sync points"};
  syncs.sentences = {"The host waited once for the device; nothing else was launched until then."};
  syncs.facts = {{"idle", "idle", 63.0, Unit::Percent},
                 {"waited_ns", "waited", std::int64_t{1'250'000}, Unit::Nanoseconds},
                 {"copied", "copied", 31e6, Unit::Bytes},
                 {"rate", "rate", 1.55e12, Unit::BytesPerSecond},
                 {"in_loop", "inside the loop", true},
                 {"stream", "stream", Value{}}};
  Table table;
  table.key = "by_kernel";
  table.title = "By what they cost";
  table.columns = {{"kernel", "kernel", Unit::None, true},
                   {"count", "runs", Unit::Count},
                   {"time_ns", "time", Unit::Nanoseconds},
                   {"share", "share", Unit::Percent},
                   {"raw", "", Unit::None}};
  table.rows = {{kLongName, std::int64_t{12'000}, 1.2e9, 50.0, "only in JSON"},
                {"sgemm", std::int64_t{345}, 2.4e8, 25.0, Value{}},
                {"memset", std::int64_t{1}, 87.0, 0.0, Value{}}};
  table.shown = 2;
  syncs.tables = {table};
  Finding kernels{"kernels", "Kernels"};
  kernels.sentences = {"Most of them are short."};
  d.findings = {syncs, kernels, time};
  d.counts.quantities = {{"gemm", 345}, {"elementwise", 12'000}};
  d.counts.kernel_names = {{kLongName, 12'000}, {"sgemm", 345}};
  return d;
}

std::vector<std::string> report_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

simdjson::dom::element parsed(simdjson::dom::parser& parser, const std::string& json) {
  return parser.parse(json).value();
}

TEST(ReadableValue, HasTheUnitOfItsColumn) {
  EXPECT_EQ(readable(1250.0, Unit::Nanoseconds), "1.25 µs");
  EXPECT_EQ(readable(-1250.0, Unit::Nanoseconds), "-1.25 µs");
  EXPECT_EQ(readable(1.55e12, Unit::BytesPerSecond), "1.55 TB/s");
  EXPECT_EQ(readable(62.5, Unit::Percent), "62.5 %");
  EXPECT_EQ(readable(std::int64_t{1'234'567}, Unit::Count), "1,234,567");
  EXPECT_EQ(readable(std::int64_t{-123}, Unit::Count), "-123");
  EXPECT_EQ(readable(2.5, Unit::Count), "2.5");
  EXPECT_EQ(readable(std::int64_t{2026}, Unit::None), "2026");
  EXPECT_EQ(readable(false, Unit::None), "no");
  EXPECT_EQ(readable(Value{}, Unit::Bytes), "–");
  EXPECT_EQ(readable(std::numeric_limits<double>::infinity(), Unit::Percent), "–");
}

TEST(TextReport, BeginsWithTheVerdictAndSaysAllOfIt) {
  const std::string text = text_report(made_diagnosis(), Terminal{}, Detail::Full);
  EXPECT_TRUE(text.starts_with("overhead-bound\nThe device is idle for 63.0 %")) << text;
  for (const char* part :
       {"12,345 kernels · 120 memcpys · 4 memsets · 0 graph launches · 1 sync · 84,123 events, 31.0 MB",
        "Sync points", "waited", "1.25 ms", "1.55 TB/s", "yes", "12,000", "50.0 %  █████",
        "… 1 more; --top 3 shows all", "Kernels"})
    EXPECT_TRUE(says(text, part)) << part << " is not in\n" << text;
  EXPECT_FALSE(says(text, "only in JSON"));
  EXPECT_FALSE(says(text, "Read in part"));
}

TEST(TextReport, FitsTerminalsOfAnyWidth) {
  Diagnosis d = made_diagnosis();
  d.summary.skipped_count = 1;
  d.summary.skipped = {{12'345, 80, "an event of 80 bytes has no end: " + std::string(150, 'x')}};
  d.findings[0].facts.push_back({"long", "a label that is long", "several words that go on " + kLongName});
  for (const int columns : {100, 80, 60, 40, 24}) {
    Terminal terminal;
    terminal.columns = columns;
    for (const std::string& line : report_lines(text_report(d, terminal, Detail::Full)))
      EXPECT_LE(columns_of(line), columns) << line;
  }
}

TEST(TextReport, SaysTheSameInColours) {
  Terminal colored;
  colored.has_color = true;
  std::string text = text_report(made_diagnosis(), colored, Detail::Full);
  EXPECT_TRUE(says(text, "\x1b[31moverhead-bound"));
  for (std::size_t at; (at = text.find('\x1b')) != std::string::npos;)
    text.erase(at, text.find('m', at) + 1 - at);
  std::vector<std::string> plain = report_lines(text_report(made_diagnosis(), Terminal{}, Detail::Full)),
                           now = report_lines(text);
  for (std::string& line : now) line.erase(line.find_last_not_of(' ') + 1);
  for (std::string& line : plain) line.erase(line.find_last_not_of(' ') + 1);
  EXPECT_EQ(now, plain);
}

// A trace must not be able to write to the terminal.
TEST(TextReport, MakesTheTextOfATracePrintable) {
  const std::string evil =
      "a\x1b]0;title\x07\nb\xc2\x9b"
      "31mc\xe2\x80\xae"
      "d\xff\xf0\x9f"
      "e\x7f";
  EXPECT_EQ(printable(evil), "a�]0;title� b�31mc�d��e�");
  Diagnosis d = made_diagnosis();
  d.path = d.verdict.sentence = evil;
  d.verdict.reasons = {evil};
  d.summary.skipped_count = 1;
  d.summary.skipped = {{1, 2, evil}};
  d.findings[0].title = evil;
  d.findings[0].sentences = {evil};
  d.findings[0].facts = {{"x", evil, evil}};
  d.findings[0].tables[0].title = evil;
  d.findings[0].tables[0].columns[0].label = evil;
  d.findings[0].tables[0].rows[0][0] = evil;
  Report report{{{d, {{evil, evil, false}}}, {d}}, {{evil, evil}}};
  simdjson::dom::parser parser;
  const auto document = parsed(parser, json_report(report));
  EXPECT_TRUE(says(std::string(std::string_view(document["traces"].at(0)["file"])), "d��e\x7f"));
  for (const std::string& text : {text_report(report, Terminal{}, Detail::Full), json_report(report)}) {
    EXPECT_TRUE(simdjson::validate_utf8(text));
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      EXPECT_TRUE(c.value == '\n' || (c.value >= 0x20 && (c.value < 0x7f || c.value > 0x9f)))
          << "U+" << std::hex << static_cast<std::uint32_t>(c.value) << " at byte " << std::dec << at;
      at += c.size;
    }
  }
}

TEST(TextReport, SaysWhatWasLeftOutOfTheTrace) {
  Diagnosis d = made_diagnosis();
  d.summary.is_truncated = true;
  d.summary.skipped_count = 1200;
  d.summary.skipped_bytes = 96'000;
  for (std::uint64_t i = 0; i < 1000; ++i) d.summary.skipped.push_back({12'345 + i, 80, "no name"});
  const std::string text = text_report(d, Terminal{}, Detail::Full);
  EXPECT_TRUE(says(text, "Read in part\n  The file ends before its document does")) << text;
  EXPECT_TRUE(says(text, "1,200 pieces, 96.0 kB in all, could not be read:")) << text;
  EXPECT_TRUE(says(text, "at byte 12,345, 80 B: no name")) << text;
  EXPECT_TRUE(says(text, "… and 1,195 more")) << text;
}

TEST(TextReport, OfSeveralTracesBeginsWithATable) {
  Report report{{{made_diagnosis()}, {made_diagnosis()}}, {{"runs/gone.json", "cannot be opened"}}};
  report.traces[1].diagnosis.path = "runs/deep/other.json";
  report.traces[1].diagnosis.verdict.bound = Bound::Compute;
  const std::string text = text_report(report, Terminal{}, Detail::Full);
  const std::vector<std::string> lines = report_lines(text);
  ASSERT_GT(lines.size(), 6U);
  EXPECT_TRUE(lines[0].starts_with("file ")) << text;
  EXPECT_TRUE(lines[1].starts_with("step.json ") && says(lines[1], "overhead-bound") &&
              says(lines[1], "63.0 %"));
  EXPECT_TRUE(lines[2].starts_with("deep/other.json ") && says(lines[2], "compute-bound")) << text;
  EXPECT_TRUE(lines[3].starts_with("gone.json ") && says(lines[3], "cannot be read")) << text;
  EXPECT_TRUE(lines[5].starts_with("── step.json ──")) << text;
}

TEST(TableLines, LeaveOutWhatDoesNotFitAtAll) {
  Table table = made_diagnosis().findings[0].tables[0];
  const auto heading = [&](int columns) { return table_lines(table, Terminal{}, columns)[0]; };
  EXPECT_TRUE(heading(98).ends_with("share")) << heading(98);
  EXPECT_TRUE(heading(36).ends_with("runs")) << heading(36);
  EXPECT_EQ(heading(10), "kernel");
  table.rows.clear();
  EXPECT_TRUE(table_lines(table, Terminal{}, 98).empty());
}

TEST(JsonReport, HasTheFieldsOfItsSchema) {
  simdjson::dom::parser parser;
  const auto document = parsed(parser, json_report({{{made_diagnosis()}}}));
  EXPECT_EQ(std::string_view(document["schema"]), "pellucid.doctor/1");
  EXPECT_EQ(std::string_view(document["file"]), "runs/step.json");
  EXPECT_EQ(std::uint64_t(document["totals"]["kernels"]), 12'345U);
  EXPECT_EQ(std::uint64_t(document["totals"]["graph_launches"]), 0U);
  EXPECT_EQ(std::uint64_t(document["read"]["events"]), 84'123U);
  EXPECT_EQ(bool(document["read"]["is_whole"]), true);
  EXPECT_EQ(std::string_view(document["verdict"]["bound"]), "overhead-bound");
  EXPECT_EQ(document["verdict"]["reasons"].get_array().size(), 2U);
  const auto syncs = document["findings"]["syncs"];
  EXPECT_EQ(double(syncs["facts"]["idle"]), 63.0);
  EXPECT_TRUE(syncs["facts"]["stream"].is_null());
  const auto rows = syncs["tables"]["by_kernel"];
  EXPECT_EQ(rows.get_array().size(), 3U);  // all, however many a terminal shows
  EXPECT_EQ(std::string_view(rows.at(0)["kernel"]), kLongName);
  EXPECT_EQ(std::string_view(rows.at(0)["raw"]), "only in JSON");
  EXPECT_EQ(std::int64_t(rows.at(1)["count"]), 345);
  EXPECT_FALSE(document["expectations"].error() == simdjson::SUCCESS);
}

TEST(JsonReport, OfSeveralTracesIsAListOfThem) {
  simdjson::dom::parser parser;
  const auto document = parsed(
      parser, json_report({{{made_diagnosis(), {{"kernels == 1", "12,345", false}}}}, {{"x", "gone"}}}));
  EXPECT_EQ(std::uint64_t(document["traces"].at(0)["totals"]["syncs"]), 1U);
  EXPECT_EQ(bool(document["traces"].at(0)["expectations"].at(0)["holds"]), false);
  EXPECT_EQ(std::string_view(document["unread"].at(0)["reason"]), "gone");
}

std::vector<Checked> checked(const std::string& conditions, std::vector<Quantities> steps = {}) {
  Diagnosis diagnosis = made_diagnosis();
  diagnosis.counts.steps = std::move(steps);
  const std::vector<Condition> parsed = parse_conditions(conditions);
  check_words(parsed, {&diagnosis});
  return check(parsed, diagnosis);
}

TEST(DoctorExpectations, CountTotalsFamiliesAndNames) {
  const auto all = checked("kernels == 12345; gemm < 300; 'gelu' == 0; 'Gelu' >= 12k; graph_launches == 0");
  ASSERT_EQ(all.size(), 5U);
  EXPECT_TRUE(all[0].holds && !all[1].holds && all[2].holds && all[3].holds && all[4].holds);
  EXPECT_EQ(all[1].condition, "gemm < 300");
  EXPECT_EQ(all[1].seen, "345");
  EXPECT_EQ(all[3].seen, "12,000");
}

TEST(DoctorExpectations, WriteABlankInTheNameOfAFamilyAsALine) {
  test::TextSource source(
      test::TraceText()
          .kernel(7, "void splitKreduce_kernel<32, 16, int, float, float, float, float, true>(float*)", 0, 5,
                  1)
          .text(),
      1000);
  const Diagnosis diagnosis = diagnose(Examination(source));
  const std::vector<Condition> conditions = parse_conditions("gemm_helper == 1; convolution_helper == 0");
  check_words(conditions, {&diagnosis});
  for (const Checked& checked : check(conditions, diagnosis)) EXPECT_TRUE(checked.holds) << checked.condition;
  for (const auto& quantity : diagnosis.counts.quantities)
    EXPECT_EQ(quantity.first.find(' '), std::string::npos) << quantity.first;
  EXPECT_TRUE(says(json_report({{{diagnosis}}}), "\"gemm_helper\":"));
}

TEST(DoctorExpectations, OfStepsHoldForEachOfThem) {
  const std::vector<Quantities> steps = {
      {{"kernels", 5}, {"syncs", 0}}, {{"kernels", 7}, {"syncs", 0}}, {{"kernels", 6}, {"syncs", 0}}};
  const auto all = checked("step.kernels <= 7; step.kernels < 7; step.syncs == 0; step.syncs == 1", steps);
  EXPECT_TRUE(all[0].holds && !all[1].holds && all[2].holds && !all[3].holds);
  EXPECT_EQ(all[0].seen, "5 to 7 in 3 steps");
  EXPECT_EQ(all[1].seen, "5 to 7 in 3 steps; step 2 has 7");
  EXPECT_EQ(all[2].seen, "0 in each of 3 steps");
  EXPECT_EQ(checked("step.kernels == 5", {{{"kernels", 5}}})[0].seen, "5 in the only step");
  const auto none = checked("step.kernels >= 0");
  EXPECT_FALSE(none[0].holds);
  EXPECT_EQ(none[0].seen, "no steps");
}

TEST(DoctorExpectations, OfMoreCompareWithTheTraceBefore) {
  const auto step = [](double kernels, double syncs) {
    return Quantities{{"kernels", kernels}, {"syncs", syncs}};
  };
  Diagnosis diagnosis = made_diagnosis();
  diagnosis.counts = {
      {30, 0, 0, 0, 4}, {{"gemm", 9}}, {step(0, 0), step(10, 1), step(11, 1), step(10, 2)}, {}};
  diagnosis.counts_before = {{29, 0, 0, 0, 8}, {}, {step(9, 2), step(10, 2), step(10, 2)}, {}};
  const auto said = [&](const std::string& text) {
    const std::vector<Condition> conditions = parse_conditions(text);
    check_words(conditions, {&diagnosis});
    return check(conditions, diagnosis)[0];
  };
  EXPECT_EQ(said("more.kernels == 1").seen, "1: 30, 29 before");
  EXPECT_TRUE(said("more.kernels == 1").holds);
  EXPECT_EQ(said("more.syncs <= 0").seen, "-4: 4, 8 before");
  EXPECT_EQ(said("more.gemm == 9").seen, "9: 9, 0 before");
  EXPECT_EQ(said("more.step.kernels == 0").seen,
            "0: 10, 10 before, in a typical step");  // a step without work is none
  EXPECT_TRUE(said("more.step.kernels == 0").holds);
  EXPECT_FALSE(said("more.step.syncs == 0").holds);
  EXPECT_TRUE(
      says(std::string(thrown_by<ValueError>([&] { said("more.gems == 0"); }).what()), "is not a quantity"));
  diagnosis.counts_before->steps.clear();
  EXPECT_EQ(said("more.step.kernels == 0").seen, "no steps");
  EXPECT_FALSE(said("more.step.kernels == 0").holds);
}

TEST(DoctorExpectations, OfMoreNeedATraceToCompareWith) {
  ReportRequest request{{"nowhere.json"}};
  request.expect = "more.step.kernels == 0";
  EXPECT_TRUE(says(std::string(thrown_by<ValueError>([&] { make_report(request); }).what()),
                   "give that one by --before"));
}

TEST(DoctorExpectations, NameWhatCouldStandThere) {
  const auto refusal = [](const std::string& conditions) {
    return std::string(thrown_by<ValueError>([&] { checked(conditions); }).what());
  };
  EXPECT_TRUE(says(refusal("kernel == 5"), "'kernel' in the condition 'kernel == 5' is not a quantity"));
  EXPECT_TRUE(
      says(refusal("gems == 5"), "expected one of kernels, memcpy, memset, graph_launches, syncs, gemm"));
  EXPECT_TRUE(says(refusal("step.gems == 5"), "is not a quantity"));
  EXPECT_TRUE(says(refusal("kernels = 5"), "has no comparison"));
}

TEST(Report, KeepsTheFindingsThatAreAskedFor) {
  Report report{{{made_diagnosis()}}};
  keep_only(report, {"kernels"}, {"syncs", "kernels", "device_time", "copies"});
  ASSERT_EQ(report.traces[0].diagnosis.findings.size(), 1U);
  EXPECT_EQ(report.traces[0].diagnosis.findings[0].key, "kernels");
  Report again{{{made_diagnosis()}}};
  const auto error = thrown_by<ValueError>([&] { keep_only(again, {"sync"}, {"syncs", "kernels"}); });
  EXPECT_TRUE(says(error.what(), "there is no finding 'sync'; the findings are syncs, kernels"));
}

TEST(Report, IsWholeWhereNothingWasLeftOut) {
  Report report{{{made_diagnosis()}}};
  EXPECT_TRUE(report.is_whole() && report.all_hold());
  report.traces[0].diagnosis.summary.is_truncated = true;
  EXPECT_FALSE(report.is_whole());
  Report unread{{{made_diagnosis()}}, {{"x", "gone"}}};
  EXPECT_FALSE(unread.is_whole());
}

// A diagnosis with two prescriptions.
Diagnosis treated_diagnosis() {
  Diagnosis d = made_diagnosis();
  Finding finding{.key = "prescriptions",
                  .title = "What to do",
                  .sentences = {"The first 2 together save 50.0 %: 1 ms of 2 ms."}};
  Table table{.key = "actions",
              .title = "",
              .columns = {{"saved", "saves", Unit::Percent},
                          {"count", "times", Unit::Count},
                          {"action", "action"},
                          {"gain", ""},
                          {"how", ""},
                          {"where", ""},
                          {"needs", ""}},
              .rows = {}};
  table.rows.push_back({40.0, std::int64_t{1234}, "Do this", "saves 40.0 %: 0.8 ms of 2 ms", "torch.this()",
                        "<train>.py(3): a|b", "it is so"});
  table.rows.push_back(
      {10.0, std::int64_t{1}, "Do that", "saves 10.0 %: 0.2 ms of 2 ms", "torch.that()", Value(), Value()});
  finding.tables.push_back(std::move(table));
  d.findings.insert(d.findings.begin(), std::move(finding));
  return d;
}

TEST(Report, AShortTextHasTheVerdictAndWhatToDo) {
  const std::string text = text_report(treated_diagnosis(), Terminal{}, Detail::Short);
  EXPECT_NE(text.find("  1. Do this\n     saves 40.0 %: 0.8 ms of 2 ms\n     torch.this()\n     at "
                      "<train>.py(3): a|b, 1,234 times; if it is so\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  2. Do that\n"), std::string::npos) << text;
  EXPECT_NE(text.find("The first 2 together save 50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("--full shows every finding"), std::string::npos) << text;
  EXPECT_LE(std::ranges::count(text, '\n'), 40);
  EXPECT_LT(text.size(), text_report(treated_diagnosis(), Terminal{}, Detail::Full).size());
}

TEST(Report, WhatToDoAboutRanksIsShownAsThatAboutATrace) {
  Report report;
  report.together = {treated_diagnosis().findings.front()};
  for (const Detail detail : {Detail::Short, Detail::Full}) {
    const std::string text = text_report(report, Terminal{}, detail);
    EXPECT_NE(text.find("  1. Do this\n     saves 40.0 %: 0.8 ms of 2 ms\n"), std::string::npos) << text;
  }
  EXPECT_NE(markdown_report(report).find("| saves 40.0 %: 0.8 ms of 2 ms | Do this<br>"), std::string::npos)
      << markdown_report(report);
}

TEST(Report, AShortTextHintsAtTheRestInTheWordsOfItsCaller) {
  const std::string text = text_report(treated_diagnosis(), Terminal{}, Detail::Short,
                                       {.full = "full()", .line = "full() is all."});
  EXPECT_TRUE(text.ends_with("\nfull() is all.\n")) << text;
  EXPECT_EQ(text.find("--full"), std::string::npos) << text;
}

TEST(Report, WhatWasAskedForIsPartOfAShortText) {
  Diagnosis d = treated_diagnosis();
  const std::string title = d.findings.back().title;
  EXPECT_EQ(text_report(d, Terminal{}, Detail::Short).find(title), std::string::npos);
  d.findings.back().is_asked_for = true;
  EXPECT_NE(text_report(d, Terminal{}, Detail::Short).find(title), std::string::npos);
}

TEST(Report, TextOfATraceCannotBecomeMarkup) {
  Report report;
  report.traces.push_back({treated_diagnosis(), {{"kernels == 5", "<b>7|", false}}});
  const std::string text = markdown_report(report);
  EXPECT_NE(text.find("| saves 40.0 %: 0.8 ms of 2 ms | Do this<br>at &lt;train&gt;.py(3): a\\|b, 1,234 "
                      "times<br>*if it is so* | `torch.this()` |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| ✗ | `kernels == 5` | &lt;b&gt;7\\| |"), std::string::npos) << text;
}

}  // namespace
}  // namespace pel::doctor
