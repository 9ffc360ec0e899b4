// The page of an explanation, its data and its times: they are those of the profiler.
#include "support/explanation_page.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pellucid/pellucid.h"

namespace pel {
namespace {

using From = CompileExplanation::Operand::From;

// A kernel as the profiler has it.
struct Launched {
  std::string name;
  std::uint64_t read = 0, written = 0, ns = 0;
};
std::vector<Launched> launches_in(Profile& profile) {
  std::vector<Launched> launches;
  profile.each([&](const ProfileEvent& e) {
    if (e.kind == ProfileEvent::Kind::Kernel)
      launches.push_back({e.name, e.bytes_read, e.bytes_written, e.end_ns - e.begin_ns});
  });
  return launches;
}

struct Profiled {
  CompileExplanation explanation;
  std::vector<Launched> launches;
};
template <class Fast>
Profiled profiled(const Fast& fast, const Tensor& x, int calls) {
  for (int i = 0; i < 2; ++i) fast(x);  // then weights are packed, which names of kernels say
  Profiled made{fast.explain(x), {}};
  Profile profile;
  for (int i = 0; i < calls; ++i) fast(x);
  made.explanation.add_times(profile);
  made.launches = launches_in(profile);
  return made;
}

// f(compiled function, input) for both.
template <class F>
void for_both(const F& f) {
  const NoGrad no_grad;
  manual_seed(0);
  const nn::GEGLU mlp(512, 1408);
  f("geglu_mlp", "GeGLU MLP", compile([&](const Tensor& x) { return mlp(x); }), randn({256, 512}));
  const nn::RMSNorm norm1(512), norm2(512);
  const nn::MultiheadAttention attention({.width = 512, .heads = 8});
  const nn::GEGLU block_mlp(512, 1408);
  const auto block = compile([&](const Tensor& x) {
    const Tensor attended = x + attention(norm1(x));
    return attended + block_mlp(norm2(attended));
  });
  f("transformer_block", "Pre-norm transformer block", block, randn({2, 256, 512}));
}

// The data of a page are those of json(), packed: texts as a pattern and its numbers, objects without their
// keys.
class PageData {
 public:
  explicit PageData(const std::string& html)
      : tables_(parser_of_tables_.parse(test::element_of(html, test::kPageTexts))),
        data_(parser_of_data_.parse(test::element_of(html, test::kPageData))) {}

  std::string difference_from(const std::string& json) {
    simdjson::dom::parser parser;
    return difference(data_, parser.parse(json));
  }

 private:
  using Element = simdjson::dom::element;

  std::string text_of(Element packed) const {
    std::istringstream in{std::string(std::string_view(packed))};
    std::size_t pattern = 0;
    in >> pattern;
    const std::string_view pieces = tables_.at(0).at(pattern);
    std::string number, text;
    if (!(in >> number)) return std::string(pieces);
    for (const char c : pieces) {
      text += c == '\t' ? number : std::string(1, c);
      if (c == '\t') in >> number;
    }
    return text;
  }

  // The path to the first value that differs; empty if there is none.
  std::string difference(Element packed, Element plain) const {
    const auto with_path = [](std::string_view step, const std::string& inner) {
      return inner.empty() ? "" : fmt::format("{}/{}", step, inner);
    };
    if (plain.is_string())
      return text_of(packed) == std::string_view(plain)
                 ? ""
                 : text_of(packed) + " is not " + simdjson::minify(plain);
    if (!plain.is_object() && !plain.is_array())
      return simdjson::minify(packed) == simdjson::minify(plain)
                 ? ""
                 : simdjson::minify(packed) + " is not " + simdjson::minify(plain);
    std::size_t at = 0;
    const simdjson::dom::array values = packed;
    const std::int64_t shape = values.at(at++);
    if (plain.is_array()) {
      if (shape != -1) return "is not an array";
      for (const Element each : simdjson::dom::array(plain)) {
        if (at == values.size()) return "has too few elements";
        const std::string found = with_path(std::to_string(at - 1), difference(values.at(at), each));
        ++at;
        if (!found.empty()) return found;
      }
      return at == values.size() ? "" : "has too many elements";
    }
    const simdjson::dom::array keys = tables_.at(1).at(static_cast<std::size_t>(shape));
    for (const auto& [key, each] : simdjson::dom::object(plain)) {
      if (at == values.size() || std::string_view(keys.at(at - 1)) != key)
        return fmt::format("has no {}", key);
      const std::string found = with_path(key, difference(values.at(at), each));
      ++at;
      if (!found.empty()) return found;
    }
    return at == values.size() && at == keys.size() + 1 ? "" : "has more keys";
  }

  simdjson::dom::parser parser_of_tables_, parser_of_data_;
  Element tables_, data_;
};

struct Ran {
  int code;
  std::string text;
};
Ran run_command(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;)
    text.append(buffer.data(), n);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / fmt::format("pellucid_{}_{}", ::getpid(), name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ExplanationPage, EachKernelHasTheNameTheBytesAndTheTimeOfTheProfile) {
  for_both([](const std::string& name, const std::string&, const auto& fast, const Tensor& x) {
    const auto [explanation, launches] = profiled(fast, x, 1);
    const CompileExplanation::Graph& graph = explanation.graphs.at(0);
    EXPECT_EQ(graph.measured_calls, 1) << graph.not_measured;
    ASSERT_EQ(graph.kernels.size(), launches.size()) << name;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const CompileExplanation::Kernel& kernel = graph.kernels[i];
      EXPECT_EQ(kernel.name, launches[i].name);
      EXPECT_EQ(kernel.bytes_read, launches[i].read) << kernel.name;
      EXPECT_EQ(kernel.bytes_written, launches[i].written) << kernel.name;
      EXPECT_EQ(kernel.measured_ns, launches[i].ns) << kernel.name;
      EXPECT_GT(kernel.measured_ns, 0u) << kernel.name;
    }
    // And so is what the page has of them.
    EXPECT_EQ(PageData(explanation.html()).difference_from(explanation.json()), "") << name;
  });
}

TEST(ExplanationPage, TimesAreMediansOfCalls) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& x) { return softmax(x, -1) * 2; });
  const auto [explanation, launches] = profiled(fast, randn({64, 256}), 5);
  const CompileExplanation::Graph& graph = explanation.graphs.at(0);
  EXPECT_EQ(graph.measured_calls, 5);
  const std::size_t kernels = graph.kernels.size();
  ASSERT_EQ(launches.size(), 5 * kernels);
  for (std::size_t k = 0; k < kernels; ++k) {
    std::vector<std::uint64_t> times;
    for (std::size_t call = 0; call < 5; ++call) times.push_back(launches[call * kernels + k].ns);
    std::ranges::sort(times);
    EXPECT_EQ(graph.kernels[k].measured_ns, times[2]);
  }
}

TEST(ExplanationPage, MeasuringCallsTheFunction) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(64, 256);
  const auto fast = compile(mlp);
  const CompileExplanation explanation = fast.explain_measured(randn({32, 64}));
  const CompileExplanation::Graph& graph = explanation.graphs.at(0);
  EXPECT_GE(graph.measured_calls, 3) << graph.not_measured;
  for (const CompileExplanation::Kernel& kernel : graph.kernels) {
    EXPECT_GT(kernel.measured_ns, 0u);
    EXPECT_GT(kernel.predicted_ns, 0) << kernel.name;
  }
  EXPECT_NE(explanation.text().find("measured: "), std::string::npos);
  EXPECT_EQ(fast.explain().graphs[0].measured_calls, 0);
}

TEST(ExplanationPage, CallsOfOtherSizesAddNoTime) {
  const NoGrad no_grad;
  const auto fast = compile([](const Tensor& x) { return exp(x); });
  CompileExplanation explanation = fast.explain(randn({100}));
  Profile profile;
  fast(randn({200}));
  explanation.add_times(profile);
  EXPECT_EQ(explanation.graphs[0].measured_calls, 0);
  EXPECT_EQ(explanation.graphs[0].kernels.at(0).measured_ns, 0u);
  EXPECT_NE(explanation.graphs[0].not_measured.find(
                "kernel 1 read 800 B and wrote 800 B instead of 400 B and 400 B"),
            std::string::npos)
      << explanation.graphs[0].not_measured;
  Profile empty;
  explanation.add_times(empty);
  EXPECT_EQ(explanation.graphs[0].not_measured,
            "no times are known: the profile has no call of a compiled function");
}

TEST(ExplanationPage, ArrowsLeadFromTheKernelThatWroteAValue) {
  for_both([](const std::string&, const std::string&, const auto& fast, const Tensor& x) {
    const CompileExplanation::Graph graph = fast.explain(x).graphs.at(0);
    for (std::size_t k = 0; k < graph.kernels.size(); ++k) {
      std::uint64_t read = 0, written = 0;
      for (const CompileExplanation::Operand& o : graph.kernels[k].reads) {
        read += o.bytes;
        if (o.from == From::Kernel) {
          ASSERT_LT(o.number, k);
          ASSERT_LT(o.output, graph.kernels[o.number].writes.size());
          for (const CompileExplanation::Operand::Part& part : o.parts) {
            ASSERT_LT(part.kernel, k);
            ASSERT_LT(part.output, graph.kernels[part.kernel].writes.size());
          }
        } else if (o.from == From::Input) {
          EXPECT_LT(o.number, graph.inputs.size());
        }
      }
      for (const CompileExplanation::Operand& o : graph.kernels[k].writes) written += o.bytes;
      EXPECT_EQ(read, graph.kernels[k].bytes_read) << graph.kernels[k].name;
      EXPECT_EQ(written, graph.kernels[k].bytes_written) << graph.kernels[k].name;
    }
    ASSERT_EQ(graph.results.size(), 1u);
    EXPECT_EQ(graph.results[0].from, From::Kernel);
    EXPECT_EQ(graph.results[0].number, graph.kernels.size() - 1);
  });
}

TEST(ExplanationPage, AnInputThatIsWrittenIsReadFromTheKernelThatWroteIt) {
  const NoGrad no_grad;
  const Tensor state = zeros({4, 8});
  const auto fast = compile([](const Tensor& into, const Tensor& x) {
    into.copy_(std::get<0>(sort(x, -1)));
    return cumsum(into, 0);
  });
  const CompileExplanation::Graph graph = fast.explain(state, randn({4, 8})).graphs.at(0);
  const CompileExplanation::Kernel& last = graph.kernels.back();
  ASSERT_FALSE(last.reads.empty());
  ASSERT_EQ(last.reads[0].from, From::Kernel);
  const CompileExplanation::Operand& written =
      graph.kernels.at(last.reads[0].number).writes.at(last.reads[0].output);
  EXPECT_EQ(written.from, From::Input);
  EXPECT_EQ(written.number, 0u);
}

// Each half of a rotary embedding is written by a kernel of its own.
TEST(ExplanationPage, AValueThatSeveralKernelsWroteLeadsFromAllOfThem) {
  const NoGrad no_grad;
  const Tensor cosine = ones({5, 4}), sine = zeros({5, 4});
  const auto fast =
      compile([&](const Tensor& x) { return std::get<0>(sort(rotary_embedding(x, cosine, sine), -1)); });
  const CompileExplanation::Graph graph = fast.explain(randn({2, 3, 5, 8})).graphs.at(0);
  std::size_t writers = 0;
  for (const CompileExplanation::Kernel& kernel : graph.kernels)
    for (const CompileExplanation::Operand& read : kernel.reads)
      writers = std::max(writers, read.parts.size() + 1);
  EXPECT_EQ(writers, 2u) << fast.graph();
}

TEST(ExplanationPage, TextsWithMarkupStayText) {
  CompileExplanation explanation;
  CompileExplanation::Graph& graph = explanation.graphs.emplace_back();
  const std::string bad = "</script><script>alert(1)</script><!-- \"q\" \\ \t\n 12 & \xff";
  graph.inputs.push_back({bad, {}, bad});
  graph.kernels.emplace_back().name = bad;
  graph.kernels[0].calls.push_back({bad, bad});
  graph.kernels[0].reason = bad;
  const std::string html = explanation.html("<img src=x onerror=alert(1)> & more");
  EXPECT_EQ(html.find("alert(1)</"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_NE(html.find("&lt;img src=x onerror=alert(1)&gt; &amp; more"), std::string::npos);
  for (const std::string_view tag : {test::kPageTexts, test::kPageData})
    EXPECT_EQ(test::element_of(html, tag).find('<'), std::string::npos);
  EXPECT_EQ(PageData(html).difference_from(explanation.json()), "");
}

TEST(ExplanationPage, AsksForNothingElse) {
  const auto fast = compile([](const Tensor& x) { return exp(x) + 1; });
  std::string html = fast.explain(randn({4})).html();
  const std::string_view name = "http://www.w3.org/2000/svg";
  for (std::size_t at; (at = html.find(name)) != std::string::npos;) html.erase(at, name.size());
  for (const char* piece :
       {"http://", "https://", "src=", "@import", "url(http", "fetch(", "XMLHttpRequest", "<link"})
    EXPECT_EQ(html.find(piece), std::string::npos) << piece;
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

// At two sizes, in both themes, by the keyboard alone, and each kernel with the numbers of the profile.
TEST(ExplanationPage, ShowsInABrowserWhatTheProfileSays) {
  for_both([](const std::string& name, const std::string& title, const auto& fast, const Tensor& x) {
    const auto [explanation, launches] = profiled(fast, x, 1);
    std::string lines;
    for (const Launched& l : launches)
      lines += fmt::format("{}\t{}\t{}\t{}\n", l.name, l.read, l.written, l.ns);
    const TemporaryFile page(name + ".html", explanation.html(title)), kernels(name + ".tsv", lines);
    const Ran ran =
        run_command(fmt::format("python3 '{}/tests/compile/check_explanation_page.py' '{}' --kernels '{}'",
                                PELLUCID_SOURCE_DIR, page.path(), kernels.path()));
    if (ran.code == 77 || ran.code == 127) GTEST_SKIP() << ran.text;
    EXPECT_EQ(ran.code, 0) << ran.text;
  });
}

// Pages without kernels, without times, and of several graphs.
TEST(ExplanationPage, OfOtherGraphsOpensToo) {
  const NoGrad no_grad;
  const auto views = compile([](const Tensor& x) { return x.t(); });
  views(randn({4, 8}));
  const auto several = compile([](const Tensor& x) { return x.dim() == 1 ? exp(x) : softmax(x, -1); });
  several(randn({8}));
  several(randn({4, 8}));
  const std::map<std::string, std::string> pages = {{"views", views.explain().html()},
                                                    {"several", several.explain().html()}};
  for (const auto& [name, html] : pages) {
    const TemporaryFile page(name + ".html", html);
    const Ran ran = run_command(fmt::format("python3 '{}/tests/compile/check_explanation_page.py' '{}'",
                                            PELLUCID_SOURCE_DIR, page.path()));
    if (ran.code == 77 || ran.code == 127) GTEST_SKIP() << ran.text;
    EXPECT_EQ(ran.code, 0) << name << ": " << ran.text;
  }
}

TEST(ExplanationPage, ThoseInTheDocumentationAreCurrent) {
  for_both([](const std::string& name, const std::string& title, const auto& fast, const Tensor& x) {
    test::expect_explanation(name + ".html", fast.explain_measured(x).html(title), "ExplanationPage");
  });
}

}  // namespace
}  // namespace pel
