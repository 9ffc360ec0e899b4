// Passes: a graph as text before, and after; and what they say about it.
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/parse_graph.h"
#include "compile/passes/remove_dead_code.h"
#include "compile/passes/share_equal_calls.h"

namespace pel {
namespace {

using compile::Explanation, compile::Graph;

struct Passed {
  std::string text, why;
};
Passed passed(Graph (*pass)(Graph, Explanation&), const char* before) {
  Explanation why;
  const Graph graph = pass(compile::parse_graph(before), why);
  verify(graph);
  return {to_string(graph), why.text()};
}

TEST(RemoveDeadCode, DropsWhatNothingReads) {
  const Passed after = passed(compile::remove_dead_code, R"(graph(%0: f32[s0, s1]) {
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
  const Passed after = passed(compile::remove_dead_code, kText);
  EXPECT_EQ(after.text, kText);
  EXPECT_EQ(after.why, "");
}

TEST(ShareEqualCalls, ReadsTheEarlierResult) {
  const Passed after = passed(compile::share_equal_calls, R"(graph(%0: f32[s0, s1]) {
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
  EXPECT_EQ(passed(compile::share_equal_calls, kText).text, kText);
}

}  // namespace
}  // namespace pel
