// Passes: a graph as text before, and after; and what they say about it.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/parse_graph.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/fuse_pointwise.h"
#include "compile/passes/move_views_up.h"
#include "compile/passes/name_versions.h"
#include "compile/passes/remove_dead_code.h"
#include "compile/passes/share_equal_calls.h"

namespace pel {
namespace {

using compiler::Explanation, compiler::Graph;

struct Passed {
  std::string text, why;
};
Passed passed(Graph (*pass)(Graph, Explanation&), const char* before) {
  Explanation why;
  const Graph graph = pass(compiler::parse_graph(before), why);
  verify(graph);
  return {to_string(graph), why.text()};
}

TEST(RemoveDeadCode, DropsWhatNothingReads) {
  const Passed after = passed(compiler::remove_dead_code, R"(graph(%0: f32[s0, s1]) {
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
  const Passed after = passed(compiler::remove_dead_code, kText);
  EXPECT_EQ(after.text, kText);
  EXPECT_EQ(after.why, "");
}

TEST(ShareEqualCalls, ReadsTheEarlierResult) {
  const Passed after = passed(compiler::share_equal_calls, R"(graph(%0: f32[s0, s1]) {
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
  EXPECT_EQ(passed(compiler::share_equal_calls, kText).text, kText);
}

TEST(NameVersions, AWriteToAWholeStorageGivesAValueOfItsOwn) {
  const Passed after = passed(compiler::name_versions, R"(graph(%0: f32[s0]) {
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

TEST(FoldConstants, ComputesWhatDependsOnNoInput) {
  const Passed after = passed(compiler::fold_constants, R"(graph(%0: f32[s0]) {
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

TEST(FusePointwise, JoinsMakersReadersAndSiblings) {
  const Passed after = passed(compiler::fuse_pointwise, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
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
  EXPECT_NE(after.why.find("%6 is written by mm and read by neg: mm is no loop over elements"),
            std::string::npos)
      << after.why;
  // And its text is a graph again.
  EXPECT_EQ(to_string(compiler::parse_graph(after.text)), after.text);
}

TEST(MoveViewsUp, AViewBetweenTwoLoopsStandsAboveBoth) {
  const Passed after = passed(compiler::move_views_up, R"(graph(%0: f32[s0, s1], %1: f32[s0, s1]) {
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
  EXPECT_NE(after.why.find("%4 = t: above add"), std::string::npos) << after.why;
}

TEST(FusePointwise, NothingIsJoinedAcrossACallThatStandsBetween) {
  const Passed after = passed(compiler::fuse_pointwise, R"(graph(%0: f32[s0, s0]) {
  %1 = exp(%0) : f32[s0, s0]
  %2 = mm(%1, %0) : f32[s0, s0]
  %3 = add(%1, %2, 1) : f32[s0, s0]
  return %3
})");
  EXPECT_EQ(after.text.find("poi_fused"), std::string::npos) << after.text;
  EXPECT_NE(after.why.find("what stands between them needs the one"), std::string::npos) << after.why;
}

TEST(FusePointwise, WhatIsOverwrittenIsReadBefore) {
  const Passed after = passed(compiler::fuse_pointwise, R"(graph(%0: f32[s0]) {
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

}  // namespace
}  // namespace pel
