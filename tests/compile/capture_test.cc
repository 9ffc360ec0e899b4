// Captured functions: the graph, its guards, and that it computes what the function does.
#include "compile/capture.h"

#include <algorithm>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/compiled_function.h"
#include "compile/equal_bits.h"
#include "compile/replay.h"
#include "compile/without_places.h"
#include "support/errors.h"

namespace pel {
namespace {

using compiler::Captured, compiler::TensorFunction;

// Whether the captured graph returns the bits that the function returns, for these inputs.
::testing::AssertionResult agrees(const Captured& captured, const TensorFunction& f,
                                  const std::vector<Tensor>& inputs) {
  std::string reason;
  const auto symbols = captured.guards.match(captured.graph, inputs, &reason);
  if (!symbols) return ::testing::AssertionFailure() << "a guard fails: " << reason;
  const std::vector<Tensor> wanted = f(inputs), given = test::replay(captured.graph, inputs, *symbols);
  if (wanted.size() != given.size()) return ::testing::AssertionFailure() << "the number of outputs differs";
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!test::equal_bits_and_strides(wanted[i], given[i]))
      return ::testing::AssertionFailure() << "output " << i << " differs:\n" << to_string(captured.graph);
  }
  return ::testing::AssertionSuccess();
}

TEST(Capture, KeepsTheOpsWithSymbolicSizesAndConstants) {
  const Tensor w = randn({8, 4}), b = randn({8});
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    return std::vector<Tensor>{gelu(linear(in[0], w, b))};
  };
  const Captured captured = compiler::capture(f, {{randn({3, 4})}});
  EXPECT_EQ(test::without_places(to_string(captured.graph)), R"(graph(%0: f32[s0, s1]) {
  guard s1 == 4
  %1 = constant : f32[8, 4]
  %3 = constant : f32[8]
  %2 = t(%1) : f32[4, 8] strides [1, 4]
  %4 = addmm(%3, %0, %2, 1, 1) : f32[s0, 8]
  %5 = gelu(%4, 'none') : f32[s0, 8]
  return %5
}
)");
  for (const int rows : {1, 2, 3, 20, 300}) EXPECT_TRUE(agrees(captured, f, {randn({rows, 4})})) << rows;
}

TEST(Capture, OneGraphServesAllSizesAndBroadcasts) {
  const TensorFunction f = [](ArrayView<Tensor> in) {
    return std::vector<Tensor>{relu(add(in[0], sum(in[0], Axes{1}, KeepDims::Yes)))};
  };
  const Captured captured = compiler::capture(f, {{randn({6, 5})}});
  for (const int rows : {0, 1, 2, 7, 64})
    for (const int columns : {1, 5, 33}) EXPECT_TRUE(agrees(captured, f, {randn({rows, columns})}));
}

TEST(Capture, SaysWhichGuardFails) {
  const TensorFunction f = [](ArrayView<Tensor> in) { return std::vector<Tensor>{add(in[0], in[1])}; };
  const Captured captured = compiler::capture(f, {{randn({3, 4}), randn({3, 4})}});
  const auto refusal = [&](const std::vector<Tensor>& inputs) {
    std::string reason;
    EXPECT_FALSE(captured.guards.match(captured.graph, inputs, &reason));
    return reason;
  };
  EXPECT_TRUE(agrees(captured, f, {randn({9, 2}), randn({9, 2})}));
  EXPECT_EQ(
      std::regex_replace(refusal({randn({3, 4}), randn({1, 4})}), std::regex(":[0-9]+ "), ":1 "),
      "axis 0 of input 0 must equal axis 0 of input 1: add at capture_test.cc:1 (s0 == s2, and s0 is 3, s2 "
      "is 1)");
  EXPECT_EQ(refusal({randn({3, 4}), randn({4})}), "input 1 has rank 1, captured with 2");
  EXPECT_EQ(refusal({randn({3, 4}), randn({3, 4}).to(kF64)}), "input 1 is f64, captured as f32");
  EXPECT_EQ(refusal({randn({3, 4})}), "1 inputs, captured with 2");
  EXPECT_NE(refusal({randn({3, 4}), randn({4, 3}).t()}).find("a layout that differs from the captured one"),
            std::string::npos);
  const Tensor x = randn({3, 4});
  EXPECT_EQ(refusal({x, x}), "inputs 0 and 1 are the same tensor");
}

// The first node of an op.
const compiler::GraphNode& node_of(const compiler::Graph& graph, std::string_view op) {
  const auto found =
      std::ranges::find_if(graph.nodes, [&](const compiler::GraphNode& node) { return node.label() == op; });
  return found == graph.nodes.end() ? graph.nodes.front() : *found;
}

TEST(Capture, ANodeCitesTheUsersLineAndThePathOfOps) {
  const Tensor w = randn({8, 4});
  Site line;
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    line = Site::current();
    return std::vector<Tensor>{linear(in[0], w).t().contiguous()};
  };
  const compiler::Graph graph = compiler::capture(f, {{randn({3, 4})}}).graph;
  const std::string cited = fmt::format("capture_test.cc:{}", line.line() + 1);
  EXPECT_EQ(node_of(graph, "mm").site.text(), cited + " linear > matmul > mm");
  EXPECT_EQ(node_of(graph, "clone").site.text(), cited + " contiguous > clone");
  EXPECT_EQ(graph.nodes[0].site.text(), cited + " linear > t");
  ASSERT_EQ(graph.sizes->guards().size(), 1u);
  EXPECT_EQ(graph.sizes->guards()[0].source, "weight of linear at " + cited);
  EXPECT_NE(to_string(graph).find("guard s1 == 4  # weight of linear at " + cited + "\n"), std::string::npos)
      << to_string(graph);
  EXPECT_NE(to_string(graph).find("  # " + cited + " linear > matmul > mm\n"), std::string::npos);
}

TEST(Capture, ACallThatIsTheUsersOwnHasNoPath) {
  Site line;
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    line = Site::current();
    return std::vector<Tensor>{in[0].size(0) == 3 ? relu(in[0]) : in[0]};
  };
  const compiler::Graph graph = compiler::capture(f, {{randn({3, 4})}}).graph;
  const std::string cited = fmt::format("capture_test.cc:{}", line.line() + 1);
  EXPECT_EQ(graph.nodes[0].site.text(), cited);
  EXPECT_EQ(graph.sizes->guards()[0].source, cited);
}

TEST(Capture, ANodeOfAModuleCitesTheUsersLineAndTheModulesPath) {
  const NoGrad no_grad;
  const nn::GPT gpt({.vocabulary = 11, .context = 8, .layers = 1, .heads = 2, .width = 8});
  Site line;
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    line = Site::current();
    return std::vector<Tensor>{gpt(in[0])};
  };
  const compiler::Graph graph = compiler::capture(f, {{tensor({{1, 2}})}}).graph;
  const std::string cited = fmt::format("capture_test.cc:{}", line.line() + 1);
  for (const compiler::GraphNode& node : graph.nodes)
    EXPECT_TRUE(node.site.text().starts_with(cited + " GPT > ")) << node.site.text();
  EXPECT_EQ(node_of(graph, "gelu").site.text(), cited + " GPT > gelu, in h.0.mlp");
  ASSERT_FALSE(graph.sizes->guards().empty());
  EXPECT_EQ(graph.sizes->guards()[0].source, "GPT at " + cited);
}

TEST(Capture, ANodeOfBackwardCitesItsCallAndTheCallThatItIsTheGradientOf) {
  const Tensor w = randn({4}).requires_grad_();
  Site line;
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    line = Site::current();
    const Tensor loss = sum(exp(mul(w, in[0])));
    loss.backward();
    return std::vector<Tensor>{loss.detach()};
  };
  const compiler::Graph graph = compiler::capture(f, {{randn({4})}}).graph;
  const auto found = std::ranges::find_if(graph.nodes, [](const compiler::GraphNode& node) {
    return node.site.within.starts_with("gradient of exp");
  });
  ASSERT_NE(found, graph.nodes.end()) << to_string(graph);
  EXPECT_EQ(found->site.text(),
            fmt::format("capture_test.cc:{} backward > mul, gradient of exp at capture_test.cc:{}",
                        line.line() + 2, line.line() + 1));
}

TEST(Capture, ATensorGivenTwiceIsOneValue) {
  const TensorFunction f = [](ArrayView<Tensor> in) {
    add_(in[0], in[1]);
    return std::vector<Tensor>{mul(in[0], in[1])};
  };
  const auto twice = [&](const Tensor& x) {
    const Tensor copy = x.clone();
    return f({{copy, copy}});
  };
  const Tensor x = randn({5});
  const Captured captured = compiler::capture(f, {{x, x}});
  const Tensor y = randn({9}), z = y.clone();
  const auto symbols = captured.guards.match(captured.graph, {{z, z}});
  ASSERT_TRUE(symbols);
  EXPECT_TRUE(test::equal_bits_and_strides(twice(y)[0], test::replay(captured.graph, {{z, z}}, *symbols)[0]));
  EXPECT_FALSE(captured.guards.match(captured.graph, {{y, z}}));
}

TEST(Capture, WritesAndViewsHappenAgain) {
  const TensorFunction f = [](ArrayView<Tensor> in) {
    const Tensor work = in[0].clone();
    mul_(work.select(0, 0), 2);
    add_(work.t(), 1);
    return std::vector<Tensor>{work, work.slice(1, 1)};
  };
  const Captured captured = compiler::capture(f, {{randn({3, 4})}});
  EXPECT_TRUE(agrees(captured, f, {randn({3, 4})}));
  EXPECT_TRUE(agrees(captured, f, {randn({7, 2})}));
}

TEST(Capture, RandomOpsGoOnWithTheirCounter) {
  const TensorFunction f = [](ArrayView<Tensor> in) {
    return std::vector<Tensor>{add(in[0], rand_like(in[0])), dropout(in[0], 0.5, Training::Yes)};
  };
  manual_seed(7);
  const Captured captured = compiler::capture(f, {{randn({3, 4})}});
  const Tensor x = randn({6, 4});
  const auto symbols = captured.guards.match(captured.graph, {{x}});
  ASSERT_TRUE(symbols);
  manual_seed(11);
  const auto eager_first = f({{x}}), eager_second = f({{x}});
  manual_seed(11);
  const auto first = test::replay(captured.graph, {{x}}, *symbols);
  const auto second = test::replay(captured.graph, {{x}}, *symbols);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(test::equal_bits_and_strides(first[i], eager_first[i])) << i;
    EXPECT_TRUE(test::equal_bits_and_strides(second[i], eager_second[i])) << i;
  }
}

TEST(Capture, ConstantsAreReadAtEachRun) {
  const Tensor w = ones({4});
  const TensorFunction f = [&](ArrayView<Tensor> in) { return std::vector<Tensor>{mul(in[0], w)}; };
  const Captured captured = compiler::capture(f, {{randn({4})}});
  w.fill_(3);
  EXPECT_TRUE(agrees(captured, f, {randn({4})}));
}

TEST(Capture, WhatReadsDataFailsWithItsPlace) {
  const TensorFunction f = [](ArrayView<Tensor> in) {
    if (sum(in[0]).item().to_double() > 0) return std::vector<Tensor>{in[0]};
    return std::vector<Tensor>{neg(in[0])};
  };
  try {
    compiler::capture(f, {{randn({3})}});
    FAIL() << "it was captured";
  } catch (const CaptureError& error) {
    EXPECT_NE(std::string(error.what()).find("reads data back to the host"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("capture_test.cc:"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(relu(randn({3})).has_data());  // the thread is as before
}

TEST(Capture, NoTensorHasDataWhileItRuns) {
  const Tensor w = randn({4, 4});
  bool any = false;
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    const Tensor square = mul(w, w), made = zeros({2, 2});
    any = square.has_data() || made.has_data() || in[0].has_data();
    return std::vector<Tensor>{matmul(in[0], square), made};
  };
  const std::uint64_t before = launch_count();
  const Captured captured = compiler::capture(f, {{randn({2, 4})}});
  EXPECT_FALSE(any);
  EXPECT_EQ(launch_count() - before, 1u);  // randn, which was before
  EXPECT_TRUE(agrees(captured, f, {randn({2, 4})}));
}

TEST(Capture, ABlockWithBatchAndSequenceIsOneGraph) {
  const NoGrad no_grad;
  manual_seed(1);
  const nn::GEGLU mlp(16, 64);
  const nn::LayerNorm norm(16);
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    return std::vector<Tensor>{add(in[0], mlp(norm(in[0])))};
  };
  const Captured captured = compiler::capture(f, {{randn({2, 3, 16})}});
  for (const int batch : {1, 2, 5})
    for (const int length : {1, 3, 17}) EXPECT_TRUE(agrees(captured, f, {randn({batch, length, 16})}));
}

TEST(Compiled, OneCaptureServesRowsUpAndDown) {
  const NoGrad no_grad;
  const nn::GEGLU mlp(16, 64);
  const TensorFunction f = [&](ArrayView<Tensor> in) { return std::vector<Tensor>{mlp(in[0])}; };
  compiler::CompiledFunction compiled(f);
  std::vector<int> rows;
  for (int i = 1; i <= 20; ++i) rows.push_back(i);
  rows.push_back(8192);
  for (int i = 20; i >= 1; --i) rows.push_back(i);
  for (const int n : rows) {
    const Tensor x = randn({n, 16});
    EXPECT_TRUE(test::equal_bits_and_strides(f({{x}})[0], compiled({{x}})[0])) << n;
  }
  EXPECT_EQ(compiled.captures(), 1u);
}

TEST(Compiled, AnotherClassOfInputsIsAnotherGraph) {
  const TensorFunction f = [](ArrayView<Tensor> in) { return std::vector<Tensor>{add(in[0], in[1])}; };
  compiler::CompiledFunction compiled(f);
  const auto run = [&](const Tensor& a, const Tensor& b) {
    EXPECT_TRUE(test::equal_bits_and_strides(f({{a, b}})[0], compiled({{a, b}})[0]));
  };
  run(randn({3, 4}), randn({3, 4}));
  run(randn({9, 1}), randn({9, 1}));
  EXPECT_EQ(compiled.captures(), 1u);
  run(randn({3, 4}), randn({4}));
  EXPECT_EQ(compiled.captures(), 2u);
  run(randn({4, 3}).t(), randn({3, 4}));
  EXPECT_EQ(compiled.captures(), 3u);
  run(randn({3, 4}), randn({1, 4}));
  EXPECT_EQ(compiled.captures(), 4u);
  run(randn({5, 6}), randn({5, 6}));
  EXPECT_EQ(compiled.captures(), 4u);
}

TEST(Compiled, SizesInArithmeticAreNotFixed) {
  const TensorFunction f = [](ArrayView<Tensor> in) {
    const Dim rows = in[0].size(0);
    return std::vector<Tensor>{div(sum(in[0], Axes{0}), rows), mul(in[0], 2 * rows + 1)};
  };
  compiler::CompiledFunction compiled(f);
  for (const int n : {6, 1, 40}) {
    const Tensor x = randn({n, 3});
    const auto wanted = f({{x}}), given = compiled({{x}});
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(test::equal_bits_and_strides(wanted[i], given[i])) << n;
  }
  EXPECT_EQ(compiled.captures(), 1u);
}

TEST(Compiled, AVerifiedReplayNamesTheFirstCallThatDiffers) {
  int times = 2;
  Tensor scale = ones({3});
  const TensorFunction f = [&](ArrayView<Tensor> in) {
    Tensor x = mul(in[0], scale);
    for (int i = 0; i < times; ++i) x = relu(x);
    return std::vector<Tensor>{exp(x)};
  };
  compiler::CompiledFunction compiled(f, compiler::Replays::Verified);
  const Tensor x = randn({3});
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(test::equal_bits_and_strides(f({{x}})[0], compiled({{x}})[0]));
  const auto complaint = [&]() -> std::string {
    try {
      compiled({{x}});
    } catch (const CaptureError& error) {
      return error.what();
    }
    return "";
  };
  times = 3;
  EXPECT_NE(complaint().find("= relu("), std::string::npos) << complaint();
  EXPECT_NE(complaint().find("capture_test.cc:"), std::string::npos) << complaint();
  times = 2;
  EXPECT_EQ(complaint(), "");
  scale = ones({3});
  EXPECT_NE(complaint().find("reads another tensor"), std::string::npos) << complaint();
}

}  // namespace
}  // namespace pel
