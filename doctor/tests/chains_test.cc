// Chains that could be fused, in small traces whose data flow is known: what is one, what it saves, what the
// answer is.
#include <cstdlib>

#include <gtest/gtest.h>

#include "doctor/diagnosis/examination.h"
#include "doctor/tests/trace_text.h"

namespace pel::doctor {
namespace {

using test::TraceText;

const std::string kChainPointwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>";
const std::string kChainReduce =
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, "
    "4>>";
const std::string kChainGemm = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x64";

std::string op_shapes(const std::string& sizes, const std::string& types, const std::string& strides = "") {
  std::string text = fmt::format(R"("Input Dims": {}, "Input type": {})", sizes, types);
  if (!strides.empty()) text += fmt::format(R"(, "Input Strides": {})", strides);
  return text;
}
const std::string kOneInput = op_shapes("[[8, 1000]]", R"(["float"])");
const std::string kTwoInputs = op_shapes("[[8, 1000], [8, 1000]]", R"(["float", "float"])");

// Ops of the host alone, one after the other, 10 µs each.
class ChainOfHost {
 public:
  ChainOfHost& op(const std::string& name, const std::string& args) {
    trace_.op(1, name, at_, 10, args);
    at_ += 12;
    return *this;
  }
  TraceText& trace() { return trace_; }

 private:
  TraceText trace_;
  double at_ = 100;
};

// Each op launches one kernel, and the device is never idle for long.
class ChainOfDevice {
 public:
  ChainOfDevice& op(const std::string& name, const std::string& kernel, const std::string& args,
                    double kernel_us = 10) {
    trace_.op(1, name, host_, 1, args);
    trace_.call(1, "cudaLaunchKernel", host_ + 0.2, 0.5, number_);
    trace_.kernel(7, kernel, device_, kernel_us, number_++);
    host_ += 1.5;
    device_ += kernel_us + between_us;
    return *this;
  }
  TraceText& trace() { return trace_; }
  double between_us = 0.1;

 private:
  TraceText trace_;
  double host_ = 100, device_ = 110;
  int number_ = 1;
};

std::optional<Finding> chains_of(const TraceText& trace) {
  test::TextSource source(trace.text(), 1000);
  const Examination examination(source);
  return analyse_chains(examination.examined());
}
Value chain_fact(const Finding& finding, std::string_view key) {
  for (const Fact& fact : finding.facts)
    if (fact.key == key) return fact.value;
  return {};
}
std::string chain_text_at(const Finding& finding, std::size_t row, std::string_view key) {
  const Table& table = finding.tables.at(0);
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].key == key) return std::get<std::string>(table.rows.at(row).at(i));
  return "";
}

TEST(Chains, OfAHostAreOpsThatPassOnTheirResult) {
  ChainOfHost run;
  run.op("aten::gelu", kOneInput).op("aten::mul", kTwoInputs);
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_text_at(*finding, 0, "ops"), "gelu, mul");
  EXPECT_EQ(chain_text_at(*finding, 0, "answer"), "compile");
  // Five trips of 32,000 bytes take 20 µs; two of them are the result of gelu.
  EXPECT_EQ(chain_fact(*finding, "saved_bytes"), Value(std::int64_t{64'000}));
  EXPECT_EQ(chain_fact(*finding, "saved_ns"), Value(std::int64_t{8'000}));
  EXPECT_EQ(chain_fact(*finding, "share"), Value(100.0));
}

TEST(Chains, DoNotSaveArithmetic) {
  TraceText trace;  // mul moves more than tanh in a third of its time
  trace.op(1, "aten::tanh", 100, 30, kOneInput).op(1, "aten::mul", 140, 10, kTwoInputs);
  const auto finding = chains_of(trace);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_fact(*finding, "time_ns"), Value(std::int64_t{40'000}));
  EXPECT_EQ(chain_fact(*finding, "saved_ns"), Value(std::int64_t{8'000}));  // two trips of five, in 20 µs
}

TEST(Chains, OfAHostEndAtAnotherOp) {
  ChainOfHost run;
  run.op("aten::gelu", kOneInput).op("aten::sort", kOneInput).op("aten::mul", kTwoInputs);
  EXPECT_FALSE(chains_of(run.trace()).has_value());
  ChainOfHost unknown;
  unknown.op("aten::gelu", kOneInput).op("mine::op", kOneInput).op("aten::mul", kTwoInputs);
  EXPECT_FALSE(chains_of(unknown.trace()).has_value());
}

TEST(Chains, OfAHostPassOverViewsAndLookInsideOps) {
  ChainOfHost run;
  run.op("aten::gelu", kOneInput)
      .op("aten::view", kOneInput)
      .op("aten::numpy_T", kOneInput)
      .op("aten::relu", kOneInput);
  run.trace().op(1, "aten::clamp_min", 136.5, 9, kOneInput);  // inside of relu, which spends 1 µs itself
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_text_at(*finding, 0, "ops"), "gelu, clamp_min");
}

TEST(Chains, OfAHostPassOverOpsOnSingleNumbers) {
  const std::string number = op_shapes("[[], []]", R"(["double", "Scalar"])");
  ChainOfHost run;
  run.op("aten::add", kOneInput).op("aten::mul", kTwoInputs);
  run.trace().op(1, "aten::to", 101, 8, number);  // inside of add, and most of its time
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_text_at(*finding, 0, "ops"), "add, mul");
  run.trace().op(1, "aten::_local_scalar_dense", 110.5, 1, number);  // between them
  EXPECT_FALSE(chains_of(run.trace()).has_value());
}

TEST(Chains, ThatRepeatAreCallsOfOneFunction) {
  ChainOfHost run;
  for (int i = 0; i < 20; ++i) run.op("aten::gelu", kOneInput).op("aten::mul", kTwoInputs);
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  ASSERT_EQ(finding->tables[0].rows.size(), 1);
  EXPECT_EQ(chain_text_at(*finding, 0, "ops"), "gelu, mul");
  EXPECT_EQ(chain_fact(*finding, "kernels"), Value(std::int64_t{40}));
  EXPECT_EQ(chain_fact(*finding, "saved_bytes"), Value(std::int64_t{20 * 64'000}));

  ChainOfHost one;  // of one op, none is left
  one.op("aten::gelu", kOneInput).op("aten::gelu", kOneInput).op("aten::gelu", kOneInput);
  EXPECT_FALSE(chains_of(one.trace()).has_value());
  ChainOfHost two;
  two.op("aten::mul", kTwoInputs).op("aten::mul", kTwoInputs);
  EXPECT_TRUE(chains_of(two.trace()).has_value());
}

TEST(Chains, NeedAResultOfTheSameSizes) {
  ChainOfHost run;
  run.op("aten::gelu", kOneInput).op("aten::mul", op_shapes("[[8, 500], [8, 500]]", R"(["float", "float"])"));
  EXPECT_FALSE(chains_of(run.trace()).has_value());
}

TEST(Chains, ContinueOverAMatmulThatReadsSomethingElse) {
  const std::string matmul = op_shapes("[[8, 16], [16, 1000]]", R"(["float", "float"])");
  ChainOfHost run;
  run.op("aten::silu", kOneInput).op("aten::mm", matmul).op("aten::mul", kTwoInputs);
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_text_at(*finding, 0, "ops"), "silu, mul");

  ChainOfHost reads;  // the matmul takes what silu left
  reads.op("aten::silu", kOneInput)
      .op("aten::mm", op_shapes("[[8, 1000], [1000, 1000]]", R"(["float", "float"])"))
      .op("aten::mul", kTwoInputs);
  EXPECT_FALSE(chains_of(reads.trace()).has_value());
  ChainOfHost single;  // mul needs no more than what the matmul left
  single.op("aten::silu", kOneInput).op("aten::mm", matmul).op("aten::neg", kOneInput);
  EXPECT_FALSE(chains_of(single.trace()).has_value());
}

TEST(Chains, GoThroughAReduction) {
  const std::string rows = op_shapes("[[8, 1]]", R"(["float"])");
  ChainOfDevice run;
  run.op("aten::pow", kChainPointwise, kOneInput)
      .op("aten::mean", kChainReduce, kOneInput)
      .op("aten::rsqrt", kChainPointwise, rows)
      .op("aten::mul", kChainPointwise, op_shapes("[[8, 1000], [8, 1]]", R"(["float", "float"])"));
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_text_at(*finding, 0, "ops"), "pow, mean, rsqrt, mul");
  EXPECT_EQ(chain_text_at(*finding, 0, "answer"), "tuned kernel, compile");
  // What pow leaves, and the eight numbers that rsqrt does.
  EXPECT_EQ(chain_fact(*finding, "saved_bytes"), Value(std::int64_t{2 * 32'000 + 2 * 32}));
}

TEST(Chains, WhatComparisonsLeaveIsOneByte) {
  ChainOfHost run;
  run.op("aten::eq", kTwoInputs).op("aten::logical_not", op_shapes("[[8, 1000]]", R"(["bool"])"));
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(chain_fact(*finding, "saved_bytes"), Value(std::int64_t{16'000}));
}

TEST(Chains, CopiesOfTensorsInAnotherOrderAreNotOne) {
  const std::string copy =
      op_shapes("[[8, 1000], [8, 1000]]", R"(["float", "float"])", "[[1000, 1], [1, 8]]");
  ChainOfDevice run;
  run.op("aten::copy_", kChainPointwise, copy)
      .op("aten::copy_", kChainPointwise, copy)
      .op("aten::copy_", kChainPointwise, copy);
  EXPECT_FALSE(chains_of(run.trace()).has_value());
}

TEST(Chains, OfADeviceThatWaitsForLaunchesWantAGraph) {
  ChainOfDevice busy;
  busy.op("aten::mm", kChainGemm, "")
      .op("aten::gelu", kChainPointwise, kOneInput)
      .op("aten::mul", kChainPointwise, kTwoInputs);
  const auto compiled = chains_of(busy.trace());
  ASSERT_TRUE(compiled.has_value());
  EXPECT_EQ(chain_text_at(*compiled, 0, "answer"), "compile");

  TraceText starved;
  for (int i = 0; i < 10; ++i) {
    const double at = 100 + 50 * i;
    starved.op(1, i % 2 == 0 ? "aten::gelu" : "aten::mul", at, 40, i % 2 == 0 ? kOneInput : kTwoInputs);
    starved.call(1, "cudaLaunchKernel", at + 20, 5, i + 1);
    starved.kernel(7, kChainPointwise, at + 27, 3, i + 1);
  }
  const auto graph = chains_of(starved);
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(chain_text_at(*graph, 0, "answer"), "graph");
  // Fusing saves less than what the kernels take.
  EXPECT_LT(std::get<std::int64_t>(chain_fact(*graph, "saved_ns")),
            std::get<std::int64_t>(chain_fact(*graph, "time_ns")));
}

TEST(Chains, SayWhatKeepsAGraphFromBeingCaptured) {
  ChainOfDevice run;
  run.op("aten::gelu", kChainPointwise, kOneInput).op("aten::mul", kChainPointwise, kTwoInputs);
  run.op("aten::gelu", kChainPointwise, kOneInput)
      .op("aten::mul", kChainPointwise, kTwoInputs)
      .op("aten::neg", kChainPointwise, kOneInput);
  run.trace().annotation(1, "ProfilerStep#1", 99, 3.9).annotation(1, "ProfilerStep#2", 103, 10);
  run.trace().op(1, "aten::_local_scalar_dense", 150, 20).op(1, "aten::nonzero", 180, 20);
  const auto finding = chains_of(run.trace());
  ASSERT_TRUE(finding.has_value());
  ASSERT_EQ(finding->sentences.size(), 1);
  EXPECT_EQ(finding->sentences[0],
            "A CUDA graph of the step cannot be captured because of: values read by the host (1), sizes that "
            "depend on "
            "values (1), steps whose kernels or sizes differ from the step before (1).");
}

// As they were checked by hand in docs/doctor.md: 9,158,656 numbers are hidden states of Qwen, bf16 or f32.
TEST(Chains, OfRealTracesAreThoseThatWereCheckedByHand) {
  const char* folder = std::getenv("PELLUCID_TRACES");
  if (folder == nullptr) GTEST_SKIP() << "PELLUCID_TRACES names no folder";
  struct Expected {
    std::string_view ops, answer;
    std::int64_t count, saved_bytes;  // of one
  };
  const auto check = [&](const std::string& name, const std::vector<Expected>& chains) {
    SCOPED_TRACE(name);
    const Examination examination(std::string(folder) + "/" + name);
    const Finding finding = analyse_chains(examination.examined()).value();
    for (const Expected& expected : chains) {
      bool is_there = false;
      for (const std::vector<Value>& row : finding.tables[0].rows) {
        if (row[5] != Value(std::string(expected.ops)) || row[3] != Value(expected.count)) continue;
        is_there = true;
        EXPECT_EQ(std::get<std::int64_t>(row[1]) / expected.count, expected.saved_bytes) << expected.ops;
        EXPECT_EQ(row[7], Value(std::string(expected.answer))) << expected.ops;
      }
      EXPECT_TRUE(is_there) << expected.ops;
    }
  };
  constexpr std::int64_t kHidden = 16 * 559 * 1024, kGate = 16 * 559 * 2816, kRows = 16 * 559;
  for (const std::string device : {"h100", "mi300x"}) {
    check(device + "_qwen05b_eager.json.gz",
          {{"add, copy_, pow, mean, add, rsqrt, mul, copy_, mul", "tuned kernel, compile", 48,
            2 * ((2 + 4 + 4 + 4 + 2) * kHidden + 2 * 4 * kRows)},
           {"silu, mul", "compile", 24, 2 * 2 * kGate},
           {"mul, add, mul", "compile", 24, 2 * 2 * 2 * kHidden}});
    check(device + "_bertsmall_eager.json.gz", {{"add, native_layer_norm", "graph", 8, 2 * 2 * 141 * 512},
                                                {"gelu, native_layer_norm", "graph", 1, 2 * 2 * 141 * 512}});
  }
}

}  // namespace
}  // namespace pel::doctor
