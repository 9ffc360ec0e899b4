// Passes: the text of a graph before and after, and the decisions they record.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/compiled_function.h"
#include "compile/dependencies.h"
#include "compile/equal_bits.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/fuse_rows.h"
#include "compile/passes/move_views_up.h"
#include "compile/passes/name_versions.h"
#include "compile/passes/remove_dead_code.h"
#include "compile/passes/share_equal_calls.h"
#include "compile/pipeline.h"
#include "compile/run_pass.h"

namespace pel {
namespace {

using test::Passed, test::run_pass;

TEST(RemoveDeadCode, DropsCallsThatNothingConsumes) {
  const Passed after = run_pass(compiler::remove_dead_code, R"(graph(%0: f32[s0, s1]) {
  %1 = relu(%0) : f32[s0, s1]
  %2 = exp(%0) : f32[s0, s1]
  %3 = neg(%2) : f32[s0, s1]
  return %1
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0, s1]) {
  %1 = relu(%0) : f32[s0, s1]
  return %1
}
)");
  EXPECT_EQ(after.why,
            "remove_dead_code: %3 = neg: nothing reads it\nremove_dead_code: %2 = exp: nothing reads it\n");
}

TEST(RemoveDeadCode, KeepsWritesAndRandomNumbers) {
  constexpr const char* kText = R"(graph(%0: f32[s0]) {
  %1 = slice(%0, 0, 1, none, 1) : f32[-1 + s0]
  %1 = mul_(%1, 2) : f32[-1 + s0]
  %2 = rand_like(%0, none, none, none, none) : f32[s0]
  return %0
}
)";
  const Passed after = run_pass(compiler::remove_dead_code, kText);
  EXPECT_EQ(after.text, kText);
  EXPECT_EQ(after.why, "");
}

// Every rank must make them, and as often as the others.
TEST(Collectives, AreNotDroppedNorSharedNorFolded) {
  constexpr const char* kText = R"(graph(%0: f32[s0]) {
  %1 = full([4], 1.0, none, none) : f32[4]
  %2 = all_reduce(%1, 'world') : f32[4]
  %3 = all_reduce(%0, 'world') : f32[s0]
  %4 = all_reduce(%0, 'world') : f32[s0]
  %5 = mul(%3, %4) : f32[s0]
  return %5
}
)";
  for (const auto pass : {compiler::remove_dead_code, compiler::share_equal_calls}) {
    const Passed after = run_pass(pass, kText);
    EXPECT_EQ(after.text, kText);
    EXPECT_EQ(after.why, "");
  }
  EXPECT_NE(run_pass(compiler::fold_constants, kText).text.find("%2 = all_reduce("), std::string::npos);
}

TEST(Collectives, KeepTheirOrder) {
  // The second is ready before the first, and its consumer needs little memory.
  const compiler::Graph graph = test::parse_graph(R"(graph(%0: f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %2 = all_reduce(%1, 'world') : f32[s0]
  %3 = all_gather(%0, 'world') : f32[s0]
  %4 = send(%0, 0, 'world') : i64[]
  return %2, %3
})");
  const auto before = compiler::dependencies(graph);
  EXPECT_EQ(before[2], (std::vector<std::size_t>{1}));
  EXPECT_EQ(before[3], (std::vector<std::size_t>{2}));
}

// A value that a collective produced is saved, whatever the budget: recomputing it would call it again.
TEST(Collectives, AreNotRecomputed) {
  const auto count = [](const std::string& text) {
    std::size_t calls = 0;
    for (std::size_t at = text.find("all_reduce("); at != text.npos; at = text.find("all_reduce(", at + 1))
      ++calls;
    return calls;
  };
  const auto fast = compile(
      [](const Tensor& x, const Tensor& w) {
        Tensor y = x;
        for (int i = 0; i < 4; ++i) y = tanh(all_reduce(matmul(y, w)));
        return y;
      },
      {.memory_budget_bytes = 1});
  fast(ones({64, 64}), ones({64, 64}));
  EXPECT_EQ(count(fast.graph()), 4U) << fast.graph();
}

TEST(ShareEqualCalls, ReadsTheEarlierResult) {
  const Passed after = run_pass(compiler::share_equal_calls, R"(graph(%0: f32[s0, s1]) {
  %1 = t(%0) : f32[s1, s0] strides [1, s1]
  %2 = t(%0) : f32[s1, s0] strides [1, s1]
  %3 = mul(%1, 2) : f32[s1, s0] strides [1, s1]
  %4 = mul(%2, 2) : f32[s1, s0] strides [1, s1]
  %5 = mul(%2, 2.0) : f32[s1, s0] strides [1, s1]
  %6 = cat((%3, %4, %5), 0) : f32[3*s1, s0]
  return %6
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0, s1]) {
  %1 = t(%0) : f32[s1, s0] strides [1, s1]
  %3 = mul(%1, 2) : f32[s1, s0] strides [1, s1]
  %5 = mul(%1, 2.0) : f32[s1, s0] strides [1, s1]
  %6 = cat((%3, %3, %5), 0) : f32[3*s1, s0]
  return %6
}
)");
  EXPECT_EQ(after.why,
            "share_equal_calls: %2 = t: %1 is the same\nshare_equal_calls: %4 = mul: %3 is the same\n");
}

TEST(ShareEqualCalls, LeavesOutputsWritesAndRandomNumbersAlone) {
  constexpr const char* kText = R"(graph(%0: f32[s0]) {
  %1 = relu(%0) : f32[s0]
  %2 = relu(%0) : f32[s0]
  %3 = exp(%0) : f32[s0]
  %4 = exp(%0) : f32[s0]
  %3 = mul_(%3, 2) : f32[s0]
  %5 = rand_like(%0, none, none, none, none) : f32[s0]
  %6 = rand_like(%0, none, none, none, none) : f32[s0]
  %7 = add(%5, %6, 1) : f32[s0]
  %8 = add(%3, %4, 1) : f32[s0]
  return %1, %2, %7, %8
}
)";
  EXPECT_EQ(run_pass(compiler::share_equal_calls, kText).text, kText);
}

TEST(NameVersions, AWriteToAWholeStorageGivesAValueOfItsOwn) {
  const Passed after = run_pass(compiler::name_versions, R"(graph(%0: f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %1 = add_(%1, 1, 1) : f32[s0]
  %2 = neg(%1) : f32[s0]
  %3 = exp(%0) : f32[s0]
  %4 = slice(%3, 0, 1, none, 1) : f32[-1 + s0]
  %4 = mul_(%4, 2) : f32[-1 + s0]
  return %1, %2, %3
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %5 = add_(%1, 1, 1) : f32[s0]
  %2 = neg(%5) : f32[s0]
  %3 = exp(%0) : f32[s0]
  %4 = slice(%3, 0, 1, none, 1) : f32[-1 + s0]
  %4 = mul_(%4, 2) : f32[-1 + s0]
  return %5, %2, %3
}
)");
}

TEST(FoldConstants, ComputesCallsThatDependOnNoInput) {
  const Passed after = run_pass(compiler::fold_constants, R"(graph(%0: f32[s0]) {
  %1 = arange(0, 8, 1, f32, none) : f32[8]
  %2 = exp(%1) : f32[8]
  %3 = arange(0, s0, 1, f32, none) : f32[s0]
  %4 = sum(%2, [0], false, none) : f32[]
  %5 = add(%3, %4, 1) : f32[s0]
  return %5
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0]) {
  %1 = constant : f32[8]
  %2 = constant : f32[8]
  %4 = constant : f32[]
  %3 = arange(0, s0, 1, f32, none) : f32[s0]
  %5 = add(%3, %4, 1) : f32[s0]
  return %5
}
)");
}

TEST(FusePointwise, JoinsProducersConsumersAndSiblings) {
  const Passed after = run_pass(compiler::fuse_pointwise, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %2 = gelu(%0, 'tanh') : f32[s0, s1]
  %3 = mul(%2, %1) : f32[s0, s1]
  %4 = t(%3) : f32[s1, s0] strides [1, s1]
  %5 = relu(%0) : f32[s0, s1]
  %6 = mm(%3, %4) : f32[s0, s0]
  %7 = neg(%6) : f32[s0, s0]
  return %5, %7
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %3, %5 = poi_fused_gelu_mul_relu_0(%0, %1) : f32[s0, s1], f32[s0, s1] {
    %2 = gelu(%0, 'tanh') : f32[s0, s1]
    %3 = mul(%2, %1) : f32[s0, s1]
    %5 = relu(%0) : f32[s0, s1]
  }
  %4 = t(%3) : f32[s1, s0] strides [1, s1]
  %6 = mm(%3, %4) : f32[s0, s0]
  %7 = neg(%6) : f32[s0, s0]
  return %5, %7
}
)");
  EXPECT_NE(after.why.find("not written to memory: %2"), std::string::npos) << after.why;
  EXPECT_EQ(after.why.find("%6"), std::string::npos) << "fuse_gemm decides on matmuls: " << after.why;
  // And its text is a graph again.
  EXPECT_EQ(to_string(test::parse_graph(after.text)), after.text);
}

TEST(MoveViewsUp, AViewBetweenTwoElementwiseCallsMovesAboveBoth) {
  const Passed after = run_pass(compiler::move_views_up, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %2 = exp(%0) : f32[s0, s1]
  %3 = add(%2, %1, 1) : f32[s0, s1]
  %4 = t(%3) : f32[s1, s0] strides [1, s1]
  %5 = relu(%4) : f32[s1, s0] strides [1, s1]
  return %5
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %8 = t(%0) : f32[s1, s0] strides [1, s1]
  %6 = exp(%8) : f32[s1, s0] strides [1, s1]
  %7 = t(%1) : f32[s1, s0] strides [1, s1]
  %4 = add(%6, %7, 1) : f32[s1, s0] strides [1, s1]
  %5 = relu(%4) : f32[s1, s0] strides [1, s1]
  return %5
}
)");
  EXPECT_NE(after.why.find("%4 = t: moved above add"), std::string::npos) << after.why;
}

TEST(FusePointwise, ACallBetweenTwoWouldCreateACycle) {
  const Passed after = run_pass(compiler::fuse_pointwise, R"(graph(%0: f32[s0, s0]) {
  %1 = exp(%0) : f32[s0, s0]
  %2 = mm(%1, %0) : f32[s0, s0]
  %3 = add(%1, %2, 1) : f32[s0, s0]
  return %3
})");
  EXPECT_EQ(after.text.find("poi_fused"), std::string::npos) << after.text;
  EXPECT_NE(after.why.find("fusing them would create a cycle"), std::string::npos) << after.why;
}

TEST(FusePointwise, AValueIsReadBeforeItIsOverwritten) {
  const Passed after = run_pass(compiler::fuse_pointwise, R"(graph(%0: f32[s0]) {
  %1 = mul(%0, 2) : f32[s0]
  %2 = sum(%0, [0], false, none) : f32[]
  %3 = add_(%0, 1, 1) : f32[s0]
  %4 = mul(%1, %3) : f32[s0]
  return %2, %4
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0]) {
  %2 = sum(%0, [0], false, none) : f32[]
  %3, %4 = poi_fused_mul_add__0(%0) : f32[s0], f32[s0] {
    %1 = mul(%0, 2) : f32[s0]
    %3 = add_(%0, 1, 1) : f32[s0]
    %4 = mul(%1, %3) : f32[s0]
  }
  return %2, %4
}
)");
}

// A pass that does not apply leaves the text as it is.
void expect_unchanged(test::Pass pass, const char* text) {
  const Passed after = run_pass(pass, text);
  EXPECT_EQ(after.text, text);
  EXPECT_EQ(after.why, "");
}

TEST(NameVersions, AStorageWithViewsKeepsItsOneValue) {
  expect_unchanged(compiler::name_versions, R"(graph(%0: f32[s0]) {
  %1 = exp(%0) : f32[s0]
  %2 = slice(%1, 0, 1, none, 1) : f32[-1 + s0]
  %1 = add_(%1, 1, 1) : f32[s0]
  %3 = neg(%2) : f32[-1 + s0]
  return %1, %3
}
)");
}

TEST(FoldConstants, LeavesResultsWritesSizesAndRandomNumbersAlone) {
  expect_unchanged(compiler::fold_constants, R"(graph(%0: f32[s0]) {
  %1 = arange(0, 8, 1, f32, none) : f32[8]
  %2 = arange(0, s0, 1, f32, none) : f32[s0]
  %3 = add(%2, %0, 1) : f32[s0]
  %4 = arange(0, 4, 1, f32, none) : f32[4]
  %4 = mul_(%4, 2) : f32[4]
  %5 = add(%4, 1, 1) : f32[4]
  %6 = rand([4], none, none, none, none) : f32[4]
  %7 = add(%5, %6, 1) : f32[4]
  return %1, %3, %7
}
)");
}

TEST(MoveViewsUp, AViewStaysBelowAValueThatOthersConsume) {
  expect_unchanged(compiler::move_views_up, R"(graph(%0: f32[s0, s1]) {
  %1 = exp(%0) : f32[s0, s1]
  %2 = t(%1) : f32[s1, s0] strides [1, s1]
  %3 = relu(%2) : f32[s1, s0] strides [1, s1]
  return %1, %3
}
)");
}

TEST(MoveViewsUp, AViewStaysBelowAMatmulAndAboveOne) {
  expect_unchanged(compiler::move_views_up, R"(graph(%0: f32[s0, s0]) {
  %1 = mm(%0, %0) : f32[s0, s0]
  %2 = t(%1) : f32[s0, s0] strides [1, s0]
  %3 = relu(%2) : f32[s0, s0] strides [1, s0]
  %4 = t(%3) : f32[s0, s0]
  %5 = mm(%4, %0) : f32[s0, s0]
  return %5
}
)");
}

TEST(FuseRows, JoinsAReductionWithItsProducerAndItsConsumer) {
  const Passed after = run_pass(compiler::fuse_rows, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %2 = mul(%0, %1) : f32[s0, s1]
  %3 = softmax(%2, 1, none) : f32[s0, s1]
  %4 = relu(%3) : f32[s0, s1]
  return %4
})");
  EXPECT_EQ(after.text, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %4 = red_fused_mul_softmax_relu_0(%0, %1) : f32[s0, s1] {
    %2 = mul(%0, %1) : f32[s0, s1]
    %3 = softmax(%2, 1, none) : f32[s0, s1]
    %4 = relu(%3) : f32[s0, s1]
  }
  return %4
}
)");
  EXPECT_EQ(after.why,
            "fuse_rows: red_fused_mul_softmax_relu_0 computes 3 calls: not written to memory: %2, %3\n");
  EXPECT_EQ(after.graph.nodes[0].kind, compiler::NodeKind::FusedRows);
  EXPECT_EQ(to_string(test::parse_graph(after.text)), after.text);
}

TEST(FuseRows, ReductionsOverDifferentRowsStayApart) {
  const char* const text = R"(graph(%0: f32[s0, s1]) {
  %1 = softmax(%0, 1, none) : f32[s0, s1]
  %2 = softmax(%1, 0, none) : f32[s0, s1]
  return %2
}
)";
  const Passed after = run_pass(compiler::fuse_rows, text);
  EXPECT_EQ(after.text, text);
  EXPECT_EQ(after.why, "fuse_rows: %1, produced by softmax and consumed by softmax: their rows differ\n");
}

TEST(FuseRows, AMatmulBetweenReductionAndConsumerWouldCreateACycle) {
  const Passed after = run_pass(compiler::fuse_rows, R"(graph(%0: f32[s0, s0]) {
  %1 = softmax(%0, 1, none) : f32[s0, s0]
  %2 = mm(%1, %0) : f32[s0, s0]
  %3 = add(%1, %2, 1) : f32[s0, s0]
  return %3
})");
  EXPECT_EQ(after.text.find("red_fused"), std::string::npos) << after.text;
  EXPECT_NE(after.why.find("fusing them would create a cycle"), std::string::npos) << after.why;
}

TEST(GraphFacts, EqualCallsAreRunOnce) {
  const compiler::Graph graph = test::parse_graph(R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
  %2 = add(%0, %1, 1) : f32[s0, s1]
  %3 = add(%2, %0, 1) : f32[s0, s1]
  %4 = add(%3, %3, 1) : f32[s0, s1]
  %5 = add(%4, %0, 2) : f32[s0, s1]
  %6 = sum(%5, [1], false, none) : f32[s0]
  return %6
})");
  compiler::GraphFacts facts;
  for (const compiler::GraphNode& node : graph.nodes) facts.of(graph, node);
  EXPECT_EQ(facts.runs(), 4U);  // both operands the same, another factor, and the sum
  const auto call = facts.elementwise_call(graph, graph.nodes[1]);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->output.number, 3U);
  EXPECT_EQ(call->inputs[0].value->number, 2U);
  EXPECT_EQ(call->inputs[1].value->number, 0U);
  EXPECT_FALSE(facts.elementwise_call(graph, graph.nodes[4]));
  EXPECT_TRUE(facts.fused_call(graph, graph.nodes[4]));
}

// Norms, a softmax, writes, random numbers, views between elementwise calls, equal and unused calls.
std::vector<Tensor> much(ArrayView<Tensor> in) {
  const Tensor x = in[0], w = in[1];
  const Tensor h = add(mm(x, w), x), unused = exp(h);
  Tensor n = layer_norm(gelu(h), {h.size(-1)});
  add_(n, 1);
  const Tensor p = softmax(mul(mm(n, w.t()), 0.125), -1);
  const Tensor transposed = relu(add(p, h).t()), again = mul(relu(h), relu(h));
  const Tensor noise = rand_like(x), table = exp(arange(0, 8, 1));
  mul_(in[2].slice(0, 1), 2);
  return {transposed, mm(again, sigmoid(h)), add(noise, sum(table)), sub(gelu(h), n)};
}

TEST(Passes, WithOneOffResultsHaveTheSameBits) {
  const NoGrad no_grad;
  manual_seed(11);
  const std::vector<Tensor> inputs = {randn({24, 24}), randn({24, 24}), randn({24})};
  const auto run = [&](const auto& f) {
    std::vector<Tensor> copies;
    for (const Tensor& t : inputs) copies.push_back(t.clone());
    manual_seed(12);
    std::vector<Tensor> outputs = f(copies);
    outputs.push_back(copies[2]);
    return outputs;
  };
  const std::vector<Tensor> wanted = run(much);
  std::vector<std::vector<std::string>> sets = {{}, compiler::pass_names()};
  for (const std::string& name : compiler::pass_names()) sets.push_back({name});
  for (const std::vector<std::string>& off : sets) {
    compiler::CompiledFunction compiled(much, compiler::Replays::Trusted, {.off = off});
    const std::vector<Tensor> outputs = run([&](const std::vector<Tensor>& in) { return compiled(in); });
    ASSERT_EQ(outputs.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(test::equal_bits(outputs[i], wanted[i])) << i << " without " << (off.empty() ? "" : off[0]);
  }
}

TEST(Passes, AreTurnedOffByName) {
  EXPECT_EQ(compiler::passes_off("-fuse_rows,-recompute"),
            (std::vector<std::string>{"fuse_rows", "recompute"}));
  EXPECT_TRUE(compiler::passes_off("").empty());
  for (const char* wrong : {"-fuse_row", "fuse_rows", "-fuse_rows,-", "-fuse_rows,nothing"}) {
    try {
      compiler::passes_off(wrong);
      ADD_FAILURE() << wrong;
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("fuse_pointwise, fuse_gemm, fuse_rows, order_for_memory"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace pel
