// Two traces side by side: ops aligned, kernels told apart, and a difference whose parts add up.
#include "doctor/compare/diff.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "doctor/compare/kernel_changes.h"
#include "doctor/compare/longest_common.h"
#include "doctor/diagnosis/examination.h"
#include "doctor/tests/real_traces.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::TraceText;

struct ExaminedText {
  explicit ExaminedText(const TraceText& trace) : source(trace.text(), 1000), examination(source) {}
  const Examined& operator*() const { return examination.examined(); }
  test::TextSource source;
  Examination examination;
};

const Table& diff_table(const std::vector<Finding>& findings, std::string_view key) {
  for (const Finding& finding : findings) {
    for (const Table& table : finding.tables) {
      if (table.key == key) return table;
    }
  }
  throw std::runtime_error("no table " + std::string(key));
}
const Value& diff_cell(const Table& table, std::size_t row, std::string_view column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == column) return table.rows.at(row).at(i);
  }
  throw std::runtime_error("no column " + std::string(column));
}
std::int64_t number_in(const Table& table, std::size_t row, std::string_view column) {
  return std::get<std::int64_t>(diff_cell(table, row, column));
}
std::string text_in(const Table& table, std::size_t row, std::string_view column) {
  const Value& value = diff_cell(table, row, column);
  return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "";
}

// Of every comparison: rows as long as their headings, and parts that add up to the nanosecond.
void expect_adds_up(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    for (const Table& table : finding.tables) {
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.key;
    }
  }
  const Table& parts = diff_table(findings, "parts");
  for (const char* column : {"before_ns", "after_ns", "difference_ns"}) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i + 1 < parts.rows.size(); ++i) sum += number_in(parts, i, column);
    EXPECT_EQ(sum, number_in(parts, parts.rows.size() - 1, column)) << column;
  }
  // No activity is lost between the steps and the kernels' changes.
  const Table& changes = diff_table(findings, "changes");
  const Table& steps = diff_table(findings, "steps");
  std::int64_t before = 0, after = 0;
  for (std::size_t i = 0; i < changes.rows.size(); ++i) {
    before += number_in(changes, i, "count_before");
    after += number_in(changes, i, "count_after");
  }
  EXPECT_GE(before, number_in(steps, 0, "kernels"));
  EXPECT_GE(after, number_in(steps, 1, "kernels"));
}

std::int64_t difference_of(const std::vector<Finding>& findings, std::string_view label) {
  const Table& parts = diff_table(findings, "parts");
  for (std::size_t i = 0; i < parts.rows.size(); ++i) {
    if (text_in(parts, i, "part") == label) return number_in(parts, i, "difference_ns");
  }
  throw std::runtime_error("no part " + std::string(label));
}

TEST(LongestCommon, IsAsLongAsTheTableOfAllPrefixesSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> a(random() % 20), b(random() % 20);
    for (auto* v : {&a, &b}) std::generate(v->begin(), v->end(), [&] { return random() % 4; });
    std::vector<std::vector<std::size_t>> longest(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j)
        longest[i][j] =
            a[i - 1] == b[j - 1] ? longest[i - 1][j - 1] + 1 : std::max(longest[i - 1][j], longest[i][j - 1]);
    }
    const auto pairs = longest_common(a, b, 100);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->size(), longest[a.size()][b.size()]);
    for (std::size_t k = 0; k < pairs->size(); ++k) {
      const auto [i, j] = (*pairs)[k];
      EXPECT_EQ(a[i], b[j]);
      if (k != 0) {
        EXPECT_LT((*pairs)[k - 1].first, i);
        EXPECT_LT((*pairs)[k - 1].second, j);
      }
    }
    const std::size_t edits = a.size() + b.size() - 2 * pairs->size();
    EXPECT_TRUE(longest_common(a, b, edits));
    if (edits != 0) {
      EXPECT_FALSE(longest_common(a, b, edits - 1));
    }
  }
}

TEST(LongestCommon, LongSequencesThatDifferLittleAreQuick) {
  std::vector<std::uint32_t> a(1'000'000), b;
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint32_t>(i % 1000);
  b = a;
  b.erase(b.begin() + 500'000, b.begin() + 500'100);
  EXPECT_EQ(longest_common(a, b, 2000)->size(), b.size());
}

TEST(CommonByCount, PairsTheFirstWithTheFirst) {
  const std::vector<std::uint32_t> a{1, 2, 1, 3}, b{1, 1, 1, 2};
  EXPECT_EQ(common_by_count(a, b), (std::vector<IndexPair>{{0, 0}, {1, 3}, {2, 1}}));
}

// An op on thread 1 with its launch and its kernel, one after the other.
class OpsInARow {
 public:
  OpsInARow& op(const std::string& name, const std::string& kernel, double takes, int thread = 1) {
    ++number_;
    trace_.op(thread, name, at_, 8).call(thread, "cudaLaunchKernel", at_ + 2, 4, number_);
    trace_.kernel(7, kernel, at_ + 10, takes, number_);
    at_ += std::max(10.0, takes) + 10;
    return *this;
  }
  TraceText& text() { return trace_; }
  double now() const { return at_; }

 private:
  TraceText trace_;
  double at_ = 0;
  int number_ = 0;
};

constexpr const char* kGemm = "ampere_sgemm_128x64_tn";
constexpr const char* kOtherGemm = "ampere_sgemm_64x32_tn";
constexpr const char* kRelu =
    "void at::native::vectorized_elementwise_kernel<4, at::native::relu_functor<float> >(int)";
constexpr const char* kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)";

TEST(Diff, ATraceAgainstItselfHasNoDifference) {
  OpsInARow steps;
  steps.op("aten::mm", kGemm, 30).op("aten::relu", kRelu, 5).op("aten::mm", kGemm, 31);
  const ExaminedText one(steps.text()), same(steps.text());
  const std::vector<Finding> findings = compare(summarize(*one), summarize(*same));
  expect_adds_up(findings);
  EXPECT_TRUE(findings[0].sentences[0].starts_with("Nothing changed")) << findings[0].sentences[0];
  const Table& parts = diff_table(findings, "parts");
  for (std::size_t i = 0; i < parts.rows.size(); ++i) EXPECT_EQ(number_in(parts, i, "difference_ns"), 0);
  EXPECT_TRUE(diff_table(findings, "ops").rows.empty());
  EXPECT_TRUE(diff_table(findings, "kernels").rows.empty());
}

TEST(Diff, KernelsAreGoneNewFasterSlowerAndReplaced) {
  OpsInARow before, after;
  before.op("aten::mm", kGemm, 30)
      .op("aten::relu", kRelu, 11)
      .op("aten::linear", kGemm, 40)
      .op("aten::sum", "reduce_kernel", 8);
  after.op("aten::mm", kGemm, 20)
      .op("aten::linear", kOtherGemm, 15)
      .op("aten::sum", "reduce_kernel", 12)
      .op("aten::add", kAdd, 6);
  const ExaminedText old(before.text()), now(after.text());
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  const Table& kernels = diff_table(findings, "kernels");
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < kernels.rows.size(); ++i)
    seen.push_back(text_in(kernels, i, "change") + " " + text_in(kernels, i, "chain") +
                   fmt::format(" {}", number_in(kernels, i, "difference_ns") / 1000));
  EXPECT_EQ(seen, (std::vector<std::string>{"replaced aten::linear -25", "gone aten::relu -11",
                                            "faster aten::mm -10", "new aten::add 6", "slower aten::sum 4"}));
  EXPECT_EQ(text_in(kernels, 0, "name_before"), kGemm);
  EXPECT_EQ(text_in(kernels, 0, "name_after"), kOtherGemm);
  EXPECT_FALSE(std::get<bool>(diff_cell(kernels, 0, "is_same_name")));
  EXPECT_TRUE(std::get<bool>(diff_cell(kernels, 2, "is_same_name")));
  EXPECT_EQ(text_in(kernels, 2, "after"), "=");
}

TEST(Diff, AnOpsOwnOpsMayChange) {
  const auto trace = [](const std::string& inner, const char* kernel, double takes) {
    return TraceText()
        .op(1, "aten::linear", 0, 50)
        .op(1, "aten::t", 2, 3)
        .op(1, inner, 10, 30)
        .call(1, "cudaLaunchKernel", 20, 5, 1)
        .kernel(7, kernel, 60, takes, 1)
        .op(1, "aten::relu", 55, 10)
        .call(1, "cudaLaunchKernel", 57, 5, 2)
        .kernel(7, kRelu, 120, 5, 2);
  };
  const ExaminedText old(trace("aten::addmm", kGemm, 30)), now(trace("aten::matmul", kOtherGemm, 20));
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  const Table& kernels = diff_table(findings, "kernels");
  ASSERT_EQ(kernels.rows.size(), 1u);
  EXPECT_EQ(text_in(kernels, 0, "change"), "replaced");
  EXPECT_EQ(text_in(kernels, 0, "chain"), "aten::linear");
}

TEST(Diff, WhatACompiledRegionReplacedStandsTogether) {
  OpsInARow before, after;
  before.op("aten::embedding", "indexSelectLargeIndex", 9);
  before.op("aten::linear", kGemm, 30).op("aten::add", kAdd, 10).op("aten::relu", kRelu, 10);
  before.op("aten::sum", "reduce_kernel", 8);
  after.op("aten::embedding", "indexSelectLargeIndex", 9);
  TraceText& text = after.text();
  const double at = after.now();
  text.op(1, "Torch-Compiled Region: 0/0", at, 20)
      .call(1, "cudaLaunchKernel", at + 2, 3, 101)
      .call(1, "cuLaunchKernel", at + 8, 3, 102)
      .kernel(7, kOtherGemm, at + 25, 25, 101)
      .kernel(7, "triton_poi_fused_add_relu_0", at + 51, 8, 102)
      .op(1, "aten::sum", at + 21, 8)
      .call(1, "cudaLaunchKernel", at + 22, 3, 103)
      .kernel(7, "reduce_kernel", at + 60, 8, 103);
  const ExaminedText old(before.text()), now(text);
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  const Table& kernels = diff_table(findings, "kernels");
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < kernels.rows.size(); ++i)
    seen.push_back(text_in(kernels, i, "change") + " " + text_in(kernels, i, "chain"));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen,
            (std::vector<std::string>{"gone aten::add", "gone aten::relu", "new Torch-Compiled Region: 0/0",
                                      "replaced aten::linear → Torch-Compiled Region: 0/0"}));
}

TEST(Diff, ThreadsArePairedByTheirOpsNotTheirNumbers) {
  OpsInARow before, after;
  before.op("aten::mm", kGemm, 30, 1).op("MmBackward0", kGemm, 40, 2).op("AddBackward0", kAdd, 10, 2);
  after.op("aten::mm", kGemm, 30, 9).op("MmBackward0", kGemm, 40, 3).op("AddBackward0", kAdd, 10, 3);
  const ExaminedText old(before.text()), now(after.text());
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  EXPECT_TRUE(diff_table(findings, "kernels").rows.empty());
  EXPECT_TRUE(diff_table(findings, "ops").rows.empty());
}

TEST(Diff, OpsInTooDifferentOrdersAreComparedByName) {
  OpsInARow before, after;
  constexpr int kOps = 2500;
  for (int i = 0; i < kOps; ++i) {
    before.op(fmt::format("op{}", i), kRelu, 5);
    after.op(fmt::format("op{}", kOps - 1 - i), kRelu, 5);
  }
  const ExaminedText old(before.text()), now(after.text());
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  EXPECT_NE(findings[1].sentences.at(0).find("differs too much to align"), std::string::npos);
  EXPECT_TRUE(diff_table(findings, "kernels").rows.empty());
}

TEST(Diff, TheMedianStepIsCompared) {
  const auto trace = [](std::vector<double> takes) {
    TraceText text;
    double at = 0;
    int number = 0;
    for (const double ns : takes) {
      ++number;
      text.annotation(1, fmt::format("ProfilerStep#{}", number), at, ns + 30);
      text.op(1, "aten::mm", at + 1, 8)
          .call(1, "cudaLaunchKernel", at + 2, 4, number)
          .kernel(7, kGemm, at + 10, ns, number);
      at += ns + 30;
    }
    return text;
  };
  const ExaminedText old(trace({900, 100, 110, 105, 90})), now(trace({50, 700, 51}));
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  const Table& steps = diff_table(findings, "steps");
  EXPECT_EQ(text_in(steps, 0, "step"), "ProfilerStep#4");
  EXPECT_EQ(text_in(steps, 1, "step"), "ProfilerStep#3");
  EXPECT_NE(findings[0].sentences[0].find("faster"), std::string::npos) << findings[0].sentences[0];
}

TEST(Diff, FewerLaunchesAreSaidToSaveDispatch) {
  OpsInARow before;
  for (int i = 0; i < 20; ++i) before.op("aten::relu", kRelu, 2);
  TraceText after;
  after.op(1, "aten::relu", 0, 8).call(1, "cudaLaunchKernel", 2, 4, 1).kernel(7, kRelu, 10, 40, 1);
  const ExaminedText old(before.text()), now(after);
  const std::vector<Finding> findings = compare(summarize(*old), summarize(*now));
  expect_adds_up(findings);
  EXPECT_EQ(difference_of(findings, "kernels and copies"), 0);
  EXPECT_EQ(difference_of(findings, "waiting for dispatch"), -(19 * 18'000));
  EXPECT_NE(findings[0].sentences[1].find("1 launch instead of 20"), std::string::npos)
      << findings[0].sentences[1];
  EXPECT_NE(findings[0].sentences[1].find("100 %"), std::string::npos) << findings[0].sentences[1];
}

TEST(Diff, WithoutDeviceActivityThereIsNothingToCompare) {
  const ExaminedText one(TraceText().kernel(7, kRelu, 0, 5, 1)), none(TraceText().op(1, "aten::mm", 0, 5));
  for (const auto& findings :
       {compare(summarize(*one), summarize(*none)), compare(summarize(*none), summarize(*one)),
        compare(summarize(*none), summarize(*none))}) {
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_NE(findings[0].sentences.at(0).find("no device activity"), std::string::npos);
  }
}

class RealPairs : public testing::Test {
 protected:
  void SetUp() override {
    PEL_SKIP_WITHOUT_TRACE("EXPECTED.json");
    folder_ = test::real_trace();
  }
  std::vector<Finding> compare_files(const std::string& before, const std::string& after) {
    const Examination old(folder_ + "/" + before), now(folder_ + "/" + after);
    const std::vector<Finding> findings = compare(summarize(old.examined()), summarize(now.examined()));
    expect_adds_up(findings);
    return findings;
  }
  static double aligned_percent(const std::vector<Finding>& findings) {
    return std::get<double>(findings[1].facts[0].value);
  }
  std::string folder_;
};

TEST_F(RealPairs, MoreLoadersSaveTheWaitForInput) {
  const auto findings = compare_files("resnet50_v100_2021_oldschema/num_workers_0.json.gz",
                                      "resnet50_v100_2021_oldschema/num_workers_4.json.gz");
  const std::int64_t all = difference_of(findings, "all"),
                     input = difference_of(findings, "waiting for input");
  EXPECT_LT(all, -40'000'000);
  EXPECT_LT(input, all) << "the rest went the other way";
  EXPECT_GT(aligned_percent(findings), 99);
  EXPECT_NE(findings[0].sentences[0].find("1.38× faster"), std::string::npos) << findings[0].sentences[0];
}

TEST_F(RealPairs, OtherDevicesHaveOtherKernelsInTheSameOps) {
  for (const char* model : {"bertsmall", "qwen05b"}) {
    const auto findings = compare_files(fmt::format("h100_{}_eager.json.gz", model),
                                        fmt::format("mi300x_{}_eager.json.gz", model));
    EXPECT_GT(aligned_percent(findings), 99) << model;
    const Table& kernels = diff_table(findings, "kernels");
    const auto replaced = std::count_if(kernels.rows.begin(), kernels.rows.end(), [](const auto& row) {
      return std::get<std::string>(row[0]) == "replaced";
    });
    EXPECT_GT(replaced, 5) << model;
  }
}

TEST_F(RealPairs, ATraceAgainstItselfHasNoDifference) {
  for (const char* name : {"h100_qwen05b_eager.json.gz", "a100_sam_compiled_syncheavy_cudagraph.json.gz",
                           "mi_vllm_decode_hipgraph_full.json.gz"}) {
    const auto findings = compare_files(name, name);
    EXPECT_TRUE(findings[0].sentences[0].starts_with("Nothing changed")) << name;
    EXPECT_EQ(difference_of(findings, "all"), 0);
    EXPECT_TRUE(diff_table(findings, "kernels").rows.empty());
  }
}

TEST_F(RealPairs, TwoProgramsCanBeCompared) {
  const auto eager_and_compiled =
      compare_files("diff_control_a100_8rank_rank3.json.gz", "diff_test_v100_cudagraph_2rank_rank1.json.gz");
  EXPECT_GT(aligned_percent(eager_and_compiled), 30);
  const auto others =
      compare_files("mi300x_sd35_compiled_triton_239k_events.json.gz", "h100_qwen05b_eager.json.gz");
  EXPECT_NE(others[1].sentences.at(0).find("two programs"), std::string::npos);
}

}  // namespace
}  // namespace pel::doctor
