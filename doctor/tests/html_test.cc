// The page: what it holds, what it must not ask for, how long it may be, and that its scripts answer as C++
// does.
#include "doctor/report/html.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/compare/diff.h"
#include "doctor/diagnosis/diagnose.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/report/page_data.h"
#include "doctor/report/readable_value.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::TextSource;
using test::TraceText;

struct Paged {
  std::unique_ptr<Examination> examination;
  Diagnosis diagnosis;
  std::string html;
};

// A page of what changed since a trace, too.
Paged page_of_two(const std::string& before, const std::string& after) {
  TextSource old_source(before, 1 << 20), source(after, 1 << 20);
  const Examination old(old_source);
  Paged paged{.examination = std::make_unique<Examination>(source), .diagnosis = {}, .html = {}};
  paged.diagnosis = diagnose(*paged.examination);
  paged.diagnosis.before = "old.json";
  const std::vector<Finding> changes =
      compare(summarize(old.examined()), summarize(paged.examination->examined()));
  paged.diagnosis.findings.insert(paged.diagnosis.findings.begin(), changes.begin(), changes.end());
  paged.html = html_report(paged.diagnosis, paged.examination->examined());
  return paged;
}

Paged page_of(const std::string& trace, const HtmlOptions& options = {}) {
  TextSource source(trace, 1 << 20);
  Paged paged{.examination = std::make_unique<Examination>(source), .diagnosis = {}, .html = {}};
  paged.diagnosis = diagnose(*paged.examination);
  paged.html = html_report(paged.diagnosis, paged.examination->examined(), options);
  return paged;
}

std::string data_of(const std::string& html) {
  const std::string_view mark = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = html.find(mark) + mark.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

std::size_t pieces_in(std::string_view text, std::string_view piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != std::string_view::npos; at = text.find(piece, at + 1))
    ++count;
  return count;
}

// A run of two steps: ops that launch, a wait, data that is loaded. Another matmul, and another time of it.
TraceText run_of_two_steps(const std::string& matmul = "ampere_sgemm_128x64_tn", double matmul_us = 70.125) {
  TraceText trace;
  trace.metadata(R"("deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}])");
  int correlation = 1;
  double time = 0;
  for (int step = 0; step < 2; ++step) {
    trace.annotation(1, fmt::format("ProfilerStep#{}", step), time, 900);
    trace.span("python_function", 1, 1, "train.py(3): main", time + 1, 890, "");
    trace.op(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", time + 2, 100);
    double device = time + 140;
    for (int i = 0; i < 10; ++i, ++correlation) {
      const double begin = time + 110 + i * 40;
      trace.op(1, "aten::linear", begin, 30).op(1, "aten::addmm", begin + 5, 22);
      trace.call(1, "cudaLaunchKernel", begin + 10, 6.5, correlation);
      device = std::max(device, begin + 20.25);
      const char* relu =
          "void at::native::vectorized_elementwise_kernel<4, at::native::relu_kernel, 2>(int, float)";
      if (i % 3 == 0) {
        trace.kernel(7, matmul, device, matmul_us, correlation);
      } else {
        trace.kernel(7, i % 3 == 1 ? relu : "k", device, i == 5 ? 4 : 12, correlation);
      }
      device += i % 3 == 0 ? matmul_us + 1 : 13;
    }
    trace.memory(1, time + 115, 4096, 1 << 20, (step + 3) << 20, 8 << 20);
    trace.memory(1, time + 300, 4096, -(1 << 20), (step + 2) << 20, 8 << 20);
    trace.call(1, "cudaDeviceSynchronize", time + 520, device - time - 515, 1000 + step);
    time += 1000;
  }
  return trace;
}

class PageFile {
 public:
  explicit PageFile(const std::string& html)
      : path_(std::filesystem::temp_directory_path() / fmt::format("pellucid_page_{}.html", ::getpid())) {
    std::ofstream(path_, std::ios::binary) << html;
  }
  ~PageFile() { std::filesystem::remove(path_); }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Ran {
  int code;
  std::string text;
};
Ran run_command(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    text.append(buffer.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}
bool has_node() { return run_command("node --version").code == 0; }

Ran run_page(const PageFile& file, const std::string& changes) {
  return run_command(fmt::format("node '{}/doctor/tests/page_answers.js' '{}' '{}'", PELLUCID_SOURCE_DIR,
                                 file.path(), changes));
}

TEST(PageColumn, HasFiveBitsToALetterAsSourceMapsDo) {
  PageColumn column;
  for (const std::int64_t n : {0, 1, -1, 15, 16, -16, 1000}) column.add(n);
  EXPECT_EQ(column.str(), "ACDegBhBw+B");
}

TEST(PageJson, KeepsMarkupAndBadBytesOutOfTheScript) {
  PageJson json;
  json.begin_array()
      .text("</script><!-- & \"q\" \\ \n")
      .text("caf\xC3\xA9 \xE2\x80\xA8")
      .text("bad \xFF\xC3")
      .end_array();
  EXPECT_EQ(
      json.str(),
      "[\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\\"q\\\" \\\\ \\u000a\",\"caf\xC3\xA9 \xE2\x80\xA8\","
      "\"bad \xEF\xBF\xBD\xEF\xBF\xBD\"]");
}

TEST(HtmlReport, SaysTheVerdictAndEveryFinding) {
  const Paged paged = page_of(run_of_two_steps().text());
  simdjson::dom::parser parser;
  const simdjson::dom::element data = parser.parse(data_of(paged.html));
  const simdjson::dom::element diagnosis = data["diagnoses"].at(0);
  EXPECT_EQ(std::string_view(diagnosis["sentence"]), paged.diagnosis.verdict.sentence);
  ASSERT_FALSE(paged.diagnosis.findings.empty());
  ASSERT_EQ(simdjson::dom::array(diagnosis["findings"]).size(), paged.diagnosis.findings.size());
  for (std::size_t f = 0; f < paged.diagnosis.findings.size(); ++f) {
    const Finding& finding = paged.diagnosis.findings[f];
    const simdjson::dom::element shown = diagnosis["findings"].at(f);
    EXPECT_EQ(std::string_view(shown["title"]), finding.title);
    for (std::size_t t = 0; t < finding.tables.size(); ++t)
      EXPECT_EQ(simdjson::dom::array(shown["tables"].at(t)["rows"]).size(), finding.tables[t].rows.size());
  }
}

// A curve is a picture: all of its points, however short the tables must be.
TEST(HtmlReport, TheCurveOfMemoryIsNotCut) {
  TraceText trace;
  for (int i = 0; i < 2000; ++i) {
    trace.op(1, fmt::format("aten::op_{}", i), 10 * i, 5);
    trace.memory(1, 10 * i + 1, i, 100, 100 * (i + 1), 1 << 20);
  }
  const Paged paged = page_of(trace.text(), {.max_bytes = 200'000});
  simdjson::dom::parser parser;
  const simdjson::dom::element data = parser.parse(data_of(paged.html));
  for (const simdjson::dom::element finding : data["diagnoses"].at(0)["findings"]) {
    if (std::string_view(finding["key"]) != "memory") continue;
    const simdjson::dom::array tables = finding["tables"];
    const simdjson::dom::element curve = tables.at(tables.size() - 1);
    EXPECT_EQ(std::string_view(curve["key"]), "curve");
    const simdjson::dom::array rows = curve["rows"];
    EXPECT_EQ(rows.size(), 200u);
    EXPECT_EQ(std::int64_t(rows.at(199).at(1)), 200'000);
    return;
  }
  FAIL() << "the page has no memory";
}

TEST(HtmlReport, OfRanksHasWhatIsFoundOfThemTogether) {
  Finding finding{.key = "stragglers", .title = "Ranks <that> others wait for"};
  finding.sentences = {"Rank 7 is late."};
  finding.facts = {{"ranks", "ranks", std::int64_t{8}, Unit::Count}};
  Table table{.key = "ranks", .title = "ranks", .columns = {{"rank", "rank", Unit::Count}}, .rows = {}};
  for (std::int64_t rank = 0; rank < 8; ++rank) table.rows.push_back({rank});
  finding.tables = {table};
  const std::string html = html_of_ranks({finding}, 8);
  simdjson::dom::parser parser;
  const simdjson::dom::element data = parser.parse(data_of(html));
  EXPECT_TRUE(data["timeline"].is_null());
  EXPECT_TRUE(data["what_if"].is_null());
  const simdjson::dom::element diagnosis = data["diagnoses"].at(0);
  EXPECT_EQ(std::string_view(diagnosis["sentence"]), "8 ranks of one run");
  EXPECT_EQ(std::string_view(diagnosis["findings"].at(0)["title"]), "Ranks <that> others wait for");
  EXPECT_EQ(simdjson::dom::array(diagnosis["findings"].at(0)["tables"].at(0)["rows"]).size(), 8u);
  EXPECT_NE(html.find("<title>8 ranks of one run"), std::string::npos);
}

TEST(HtmlReport, NamesWithMarkupStayText) {
  const std::string bad = "</script><script>alert(1)</script><!--<b onclick='x'>&amp;\\u2028\\\"";
  const std::string trace = TraceText()
                                .op(1, bad, 0, 50)
                                .call(1, "cudaLaunchKernel", 10, 5, 1)
                                .kernel(7, "void k<" + bad + ">", 20, 10, 1)
                                .text();
  const Paged paged = page_of(trace);
  const std::string data = data_of(paged.html);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(pieces_in(paged.html, "</script>"), 2u);
  EXPECT_EQ(paged.html.find("alert(1)</"), std::string::npos);
  simdjson::dom::parser parser;
  bool is_there = false;
  for (const std::string_view text : simdjson::dom::array(parser.parse(data)["timeline"]["texts"]))
    is_there = is_there || text == "</script><script>alert(1)</script><!--<b onclick='x'>&amp;\xE2\x80\xA8\"";
  EXPECT_TRUE(is_there);
}

TEST(HtmlReport, APathWithMarkupStaysText) {
  Paged paged = page_of(run_of_two_steps().text());
  paged.diagnosis.path = "/tmp/<img src=x onerror=alert(1)>.json";
  paged.diagnosis.verdict.sentence = "a < b & c";
  const std::string html = html_report(paged.diagnosis, paged.examination->examined());
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_NE(html.find("a &lt; b &amp; c"), std::string::npos);
}

TEST(HtmlReport, AsksForNothingElse) {
  std::string html = page_of(run_of_two_steps().text()).html;
  const std::string_view name = "http://www.w3.org/2000/svg";
  for (std::size_t at; (at = html.find(name)) != std::string::npos;) html.erase(at, name.size());
  for (const char* piece :
       {"http://", "https://", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link"})
    EXPECT_EQ(html.find(piece), std::string::npos) << piece;
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(HtmlReport, ATraceOfTheCpuAloneHasAPage) {
  const Paged paged = page_of(TraceText().op(1, "aten::mm", 0, 10).text());
  simdjson::dom::parser parser;
  const simdjson::dom::element data = parser.parse(data_of(paged.html));
  EXPECT_TRUE(data["what_if"].is_null());
  EXPECT_EQ(std::string_view(data["diagnoses"].at(0)["bound"]), "cpu-only");
}

TEST(HtmlReport, AnEmptyTraceHasAPage) {
  const Paged paged = page_of("{\"traceEvents\": []}");
  simdjson::dom::parser parser;
  EXPECT_EQ(simdjson::dom::array(parser.parse(data_of(paged.html))["timeline"]["lanes"]).size(), 0u);
}

// One in four is Python, one in four an op, one a call, one a kernel.
std::string long_trace(int events) {
  TraceText trace;
  for (int i = 0; i < events / 4; ++i) {
    const double at = i * 20.0 + (i * 7919 % 1000) / 1000.0;
    trace.python(1, fmt::format("model.py({}): layer_{}", i % 977, i % 977), at, 12 + i % 5);
    trace.op(1, fmt::format("aten::op_{}", i % 131), at + 1.125, 9.5);
    trace.call(1, "cudaLaunchKernel", at + 3.25, 4.125, i + 1);
    trace.kernel(7, fmt::format("void at::native::kernel_number_{}<float, 4>(int, float*)", i % 211), at + 9,
                 10.875, i + 1);
  }
  return trace.text();
}

TEST(HtmlReport, OfAHundredThousandEventsIsBelowThreeMegabytesAndWhole) {
  const Paged paged = page_of(long_trace(100'000));
  EXPECT_LT(paged.html.size(), 3'000'000u);
  simdjson::dom::parser parser;
  EXPECT_EQ(simdjson::dom::array(parser.parse(data_of(paged.html))["timeline"]["left_out"]).size(), 0u);
}

TEST(HtmlReport, OfALongerTraceLeavesOutPythonFirstAndSaysSo) {
  const Paged paged = page_of(long_trace(40'000), {.max_bytes = 500'000});
  EXPECT_LT(paged.html.size(), 500'000u);
  simdjson::dom::parser parser;
  const simdjson::dom::array left_out = parser.parse(data_of(paged.html))["timeline"]["left_out"];
  ASSERT_GT(left_out.size(), 0u);
  EXPECT_EQ(std::string_view(left_out.at(0).at(1)), "Python functions");
  EXPECT_GT(std::int64_t(left_out.at(0).at(0)), 0);
}

TEST(HtmlReport, ItsTimelineHasTheSpansOfTheTrace) {
  if (!has_node()) GTEST_SKIP() << "node is not installed";
  const Paged paged = page_of(run_of_two_steps().text());
  const Model& model = paged.examination->model();
  const EventTable& events = model.events();
  const PageFile file(paged.html);
  const Ran ran = run_page(file, "[]");
  ASSERT_EQ(ran.code, 0) << ran.text;
  simdjson::dom::parser parser;
  const simdjson::dom::element shown = parser.parse(ran.text);
  std::size_t span = 0;
  const std::int64_t first = events.begin_ns(model.of_row(model.host_rows()[0])[0]);
  for (const EventId e : model.of_row(model.host_rows()[0])) {
    const simdjson::dom::element at = shown["spans"].at(span++);
    EXPECT_EQ(std::string_view(at["name"]), events.name(e));
    EXPECT_EQ(std::int64_t(at["begin"]), events.begin_ns(e) - first);
    EXPECT_EQ(std::int64_t(at["duration"]), events.duration_ns(e));
  }
  for (const Activity& activity : model.activities()) {
    const simdjson::dom::element at = shown["spans"].at(span++);
    EXPECT_EQ(std::int64_t(at["begin"]), activity.begin_ns - first);
    EXPECT_EQ(std::string_view(at["ops"]), model.op_chain(activity.launch));
    const simdjson::dom::element launch = shown["spans"].at(std::size_t(std::int64_t(at["launch"])));
    EXPECT_EQ(std::int64_t(launch["begin"]), events.begin_ns(activity.launch) - first);
    EXPECT_EQ(std::string_view(at["stack"].at(0)), model.stack_of(activity.launch, 1)[0]);
  }
  EXPECT_EQ(span, simdjson::dom::array(shown["spans"]).size());
  EXPECT_EQ(simdjson::dom::array(shown["gaps"]).size(), paged.examination->examined().time.gaps().size());
}

struct PageQuestion {
  const char *question, *change;
};
constexpr PageQuestion kPageQuestions[] = {
    {"dispatch=1", "{}"},
    {"dispatch=0.5", R"({"dispatch": 0.5})"},
    {"dispatch=0", R"({"dispatch": 0})"},
    {"loading=0; dispatch=1.5", R"({"loading": 0, "dispatch": 1.5})"},
    {"kernels=0.5", R"({"activities": 0.5})"},
    {"syncs=0; kernels=1.5", R"({"syncs": false, "activities": 1.5})"},
    {"syncs=0; dispatch=0; loading=2; kernels=2",
     R"({"syncs": false, "dispatch": 0, "loading": 2, "activities": 2})"},
    {"device=T4", R"({"device": "T4"})"},
    {"device=A100 SXM 80GB", R"({"device": "A100 SXM 80GB"})"},
};
constexpr PageQuestion kTogether[] = {
    // a device with other changes: only the graph has these
    {"device=MI300X; kernels=0.3", R"({"device": "MI300X", "activities": 0.3})"},
    {"dispatch=0.5; device=B200; syncs=0", R"({"device": "B200", "dispatch": 0.5, "syncs": false})"},
};

void expect_the_same_answers(const std::string& trace, std::vector<PageQuestion> questions,
                             const HtmlOptions& options) {
  const Paged paged = page_of(trace, options);
  const WhatIf what_if(paged.examination->examined());
  ASSERT_EQ(what_if.refusal(), "");
  std::string changes;
  for (const PageQuestion& asked : questions)
    changes += (changes.empty() ? "[" : ", ") + std::string(asked.change);
  const PageFile file(paged.html);
  const Ran ran = run_page(file, changes + "]");
  ASSERT_EQ(ran.code, 0) << ran.text;
  simdjson::dom::parser parser;
  const simdjson::dom::element answers = parser.parse(ran.text)["answers"];
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question question = parse_question(paged.examination->examined(), questions[i].question);
    const Answer answer = what_if.ask(question.change);
    EXPECT_EQ(double(answers.at(i)["span"]), static_cast<double>(answer.span_ns)) << questions[i].question;
    EXPECT_EQ(double(answers.at(i)["step"]), static_cast<double>(answer.step_ns)) << questions[i].question;
  }
}

TEST(HtmlReport, ItsReplayAnswersAsWhatIfDoes) {
  if (!has_node()) GTEST_SKIP() << "node is not installed";
  std::vector<PageQuestion> questions(std::begin(kPageQuestions), std::end(kPageQuestions));
  questions.insert(questions.end(), std::begin(kTogether), std::end(kTogether));
  expect_the_same_answers(run_of_two_steps().text(), questions, {});
}

TEST(HtmlReport, AnswersThatWereComputedBeforehandAreThoseOfWhatIf) {
  if (!has_node()) GTEST_SKIP() << "node is not installed";
  expect_the_same_answers(run_of_two_steps().text(), {std::begin(kPageQuestions), std::end(kPageQuestions)},
                          {.max_edges = 0});
}

TEST(HtmlReport, WhereWhatIfRefusesThePageSaysWhy) {
  const Paged paged = page_of(TraceText()
                                  .call(1, "cudaLaunchKernel", 0, 5, 1)
                                  .call(1, "cudaLaunchKernel", 6, 5, 2)
                                  .kernel(7, "first", 20, 10, 1)
                                  .kernel(7, "second", 9'000, 10, 2)
                                  .text());
  const std::string refusal = WhatIf(paged.examination->examined()).refusal();
  ASSERT_NE(refusal, "");
  simdjson::dom::parser parser;
  const simdjson::dom::object shown = parser.parse(data_of(paged.html))["what_if"];
  EXPECT_EQ(std::string_view(shown["refusal"]), refusal);
  EXPECT_NE(shown["graph"].error(), simdjson::SUCCESS);
  EXPECT_NE(shown["grid"].error(), simdjson::SUCCESS);
}

TEST(HtmlReport, ADeviceThatNobodyKnowsCannotBeChanged) {
  const Paged paged = page_of(TraceText()
                                  .call(1, "cudaLaunchKernel", 0, 5, 1)
                                  .kernel(7, "first", 9, 10, 1)
                                  .metadata(R"("deviceProperties": [{"id": 0, "name": "Abacus"}])")
                                  .text());
  simdjson::dom::parser parser;
  const simdjson::dom::element devices = parser.parse(data_of(paged.html))["what_if"]["devices"];
  EXPECT_NE(std::string_view(devices["refusal"]).find("Abacus"), std::string_view::npos);
  EXPECT_EQ(simdjson::dom::array(devices["names"]).size(), 0u);
}

// Numbers of the page are those of the text, but for the sign and the space that holds a unit.
std::string as_in_text(std::string shown) {
  for (const auto& [from, to] : {std::pair("−", "-"), {"\u00a0", " "}}) {
    for (std::size_t at; (at = shown.find(from)) != std::string::npos;)
      shown.replace(at, std::string_view(from).size(), to);
  }
  return shown;
}

TEST(HtmlReport, WhatChangedHasTheNumbersOfTheText) {
  const Paged paged =
      page_of_two(run_of_two_steps().text(), run_of_two_steps("volta_sgemm_64x64_nt", 31).text());
  ASSERT_EQ(paged.diagnosis.findings.at(0).key, "diff");
  simdjson::dom::parser parser;
  const std::string data = data_of(paged.html);
  const simdjson::dom::element diff = parser.parse(data)["diagnoses"].at(0);
  EXPECT_EQ(std::string_view(diff["before"]), "old.json");
  const simdjson::dom::element parts = diff["findings"].at(0)["tables"].at(1);
  ASSERT_EQ(std::string_view(parts["key"]), "parts");
  std::int64_t sum = 0;
  const simdjson::dom::array rows = parts["rows"];
  ASSERT_EQ(rows.size(), 7u);
  for (std::size_t r = 0; r < 6; ++r) sum += std::int64_t(rows.at(r).at(3));
  EXPECT_EQ(sum, std::int64_t(rows.at(6).at(3)));
  EXPECT_LT(sum, 0);
  if (!has_node()) GTEST_SKIP() << "node is not installed";
  const PageFile file(paged.html);
  const Ran ran = run_page(file, "[]");
  ASSERT_EQ(ran.code, 0) << ran.text;
  const simdjson::dom::element shown = parser.parse(ran.text)["findings"];
  std::size_t values = 0;
  for (std::size_t f = 0; f < paged.diagnosis.findings.size(); ++f) {
    const std::vector<Table>& tables = paged.diagnosis.findings[f].tables;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      for (std::size_t r = 0; r < tables[t].rows.size(); ++r) {
        for (std::size_t c = 0; c < tables[t].columns.size(); ++c, ++values) {
          const std::string_view text(shown.at(f).at(t).at(r).at(c));
          EXPECT_EQ(as_in_text(std::string(text)), readable(tables[t].rows[r][c], tables[t].columns[c].unit))
              << tables[t].key << ", row " << r << ", " << tables[t].columns[c].key;
        }
      }
    }
  }
  EXPECT_GT(values, 100u);
}

TEST(HtmlReport, AllThatCanBeClickedCanBePressed) {
  if (!has_node()) GTEST_SKIP() << "node is not installed";
  const PageFile file(
      page_of_two(run_of_two_steps().text(), run_of_two_steps("volta_sgemm_64x64_nt", 31).text()).html);
  const Ran ran = run_command(
      fmt::format("node '{}/doctor/tests/page_elements.js' '{}'", PELLUCID_SOURCE_DIR, file.path()));
  EXPECT_EQ(ran.code, 0) << ran.text;
}

// With what changed and the graph for what-if, and without both; at two sizes, in both themes, and by the
// keyboard alone.
TEST(HtmlReport, EveryViewIsOfUseInABrowser) {
  for (const Paged& paged :
       {page_of(run_of_two_steps().text(), {.max_edges = 0}),
        page_of_two(run_of_two_steps().text(), run_of_two_steps("volta_sgemm_64x64_nt", 31).text())}) {
    const PageFile file(paged.html);
    const Ran ran = run_command(
        fmt::format("python3 '{}/doctor/tests/check_page.py' '{}'", PELLUCID_SOURCE_DIR, file.path()));
    if (ran.code == 77 || ran.code == 127) GTEST_SKIP() << ran.text;
    EXPECT_EQ(ran.code, 0) << ran.text;
  }
}

}  // namespace
}  // namespace pel::doctor
