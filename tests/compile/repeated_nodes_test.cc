// Nodes that are alike repeat the steps of the first one of them (decision 0036): plans are those of nodes
// that all run.
#include <numeric>

#include <gtest/gtest.h>

#include "pellucid/pellucid.h"

#include "compile/compiled_function.h"
#include "compile/node_content.h"

namespace pel {
namespace {

using compiler::CompiledFunction, compiler::Graph, compiler::Plan, compiler::TensorFunction;

std::string text_of(const Plan& plan) {
  std::string text = plan.text();
  for (const compiler::PlannedKernel& kernel : plan.planned_kernels())
    text += fmt::format("{} of node {}, whole {}, reads {}, writes {}: {}\n", kernel.name, kernel.node,
                        kernel.is_whole_node, kernel.bytes_read, kernel.bytes_written, kernel.reason);
  return text + fmt::format("peak of {} bytes, {} with small tensors\n", plan.peak_bytes(),
                            plan.peak_bytes_of_all());
}

// The graph, in which no node is like another.
Graph without_alike(Graph graph) {
  graph.alike.resize(graph.nodes.size());
  std::iota(graph.alike.begin(), graph.alike.end(), 0U);
  return graph;
}

// Compares plans at the sizes of the inputs. Returns the share of nodes that are like an earlier one.
double expect_same_plans(const TensorFunction& f, const std::vector<std::vector<Tensor>>& calls) {
  CompiledFunction function(f);
  std::size_t repeated = 0, nodes = 0;
  for (const std::vector<Tensor>& inputs : calls) {
    const auto captured = function.graph_for(inputs);
    const Graph alone = without_alike(captured->graph);
    const std::vector<Tensor> all = captured->gradients.after(inputs);
    const auto symbols = captured->guards.match(captured->graph, all, nullptr);
    if (!symbols) {
      ADD_FAILURE() << "the graph does not fit the call";
      continue;
    }
    const Plan shared(captured->graph, captured->loops, *symbols), wanted(alone, captured->loops, *symbols);
    EXPECT_EQ(text_of(shared), text_of(wanted)) << "inputs from " << to_string(inputs[0].sizes());
    nodes += alone.nodes.size();
    for (std::uint32_t n = 0; n < alone.nodes.size(); ++n) repeated += captured->graph.alike[n] != n;
  }
  return static_cast<double>(repeated) / static_cast<double>(nodes);
}

Tensor tokens(std::int64_t batch, std::int64_t length) { return zeros({batch, length}, kI64); }

TEST(RepeatedNodes, AGptHasTheSamePlansAtManySizes) {
  const InferenceMode inference;
  const nn::GPT model({.vocabulary = 64, .context = 512, .layers = 6, .heads = 4, .width = 32});
  std::vector<std::vector<Tensor>> calls;
  for (const int batch : {2, 1, 5})
    for (const int length : {17, 1, 2, 3, 16, 31, 32, 33, 64, 100, 255, 256, 257, 512})
      calls.push_back({tokens(batch, length)});
  const double share = expect_same_plans(
      [&](ArrayView<Tensor> inputs) -> std::vector<Tensor> { return {model(inputs[0])}; }, calls);
  EXPECT_GT(share, 0.75);  // five of six layers
}

TEST(RepeatedNodes, ALlamaHasTheSamePlansAtManySizes) {
  const InferenceMode inference;
  nn::LlamaConfig config;
  config.width = 64, config.hidden = 96, config.kv_heads = 2;
  const nn::Llama model(config);
  std::vector<std::vector<Tensor>> calls;
  for (const int batch : {1, 3})
    for (const int length : {9, 1, 2, 5, 40, 200}) calls.push_back({tokens(batch, length)});
  const double share = expect_same_plans(
      [&](ArrayView<Tensor> inputs) -> std::vector<Tensor> { return {model(inputs[0])}; }, calls);
  EXPECT_GT(share, 0.5);
}

// Has random numbers, results that are gradients, and writes to memory of the function.
TEST(RepeatedNodes, ATrainingStepHasTheSamePlansAtManySizes) {
  nn::GPT model({.vocabulary = 67, .context = 64, .layers = 3, .heads = 4, .width = 32, .dropout = 0.1});
  optim::AdamW optimizer(model, {.lr = 1e-3});
  const auto step = [&](ArrayView<Tensor> inputs) -> std::vector<Tensor> {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(inputs[0]).flatten(0, 1), inputs[1].reshape({-1}));
    loss.backward();
    optimizer.step();
    return {loss};
  };
  std::vector<std::vector<Tensor>> calls;
  for (const int batch : {2, 1, 5})
    for (const int length : {9, 1, 2, 33, 64})
      calls.push_back({tokens(batch, length), tokens(batch, length)});
  EXPECT_GT(expect_same_plans(step, calls), 0.3);
}

// Views of one memory at other offsets, writes to an input, a tensor that is returned twice, lists, numbers.
TEST(RepeatedNodes, ViewsWritesAndListsHaveTheSamePlans) {
  const auto f = [](ArrayView<Tensor> inputs) -> std::vector<Tensor> {
    Tensor x = inputs[0], z = inputs[1];
    for (int i = 0; i < 3; ++i) x = matmul(x, x).add(inputs[0]);
    std::vector<Tensor> parts = x.chunk(4, 1);
    for (Tensor& part : parts) part = sum(part.t(), {0}, KeepDims::Yes);
    const Tensor joined = cat({parts[0], parts[1]}, 1), again = cat({parts[2], parts[3]}, 1);
    for (int i = 0; i < 3; ++i) z.add_(1.5);
    const Tensor same = z.mul_(2.0);
    return {joined, again, matmul(joined, again.t()), matmul(again, joined.t()), z,
            same,   x,     x.slice(0, 1, 3)};
  };
  std::vector<std::vector<Tensor>> calls;
  for (const int size : {8, 4, 12, 64}) calls.push_back({randn({size, size}), randn({size})});
  EXPECT_GT(expect_same_plans(f, calls), 0.0);
}

TEST(RepeatedNodes, NodesAreAlikeIfOpArgumentsAndDescriptionsAre) {
  const InferenceMode inference;
  CompiledFunction function([](ArrayView<Tensor> inputs) -> std::vector<Tensor> {
    const Tensor& a = inputs[0];
    return {mm(a, a), mm(a, a.t()), mm(mm(a, a), a), mm(mm(mm(a, a), a), a)};
  });
  const std::vector<Tensor> inputs{randn({4, 4})};
  const Graph& graph = function.graph_for(inputs)->graph;
  ASSERT_EQ(graph.alike, compiler::alike_nodes(graph));
  std::size_t leaders = 0;
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) leaders += graph.alike[n] == n;
  // mm(a, a), the transpose, mm(a, at), and mm of two different square matrices.
  EXPECT_EQ(leaders, 4U) << to_string(graph);
  EXPECT_GT(graph.nodes.size(), leaders) << to_string(graph);
}

}  // namespace
}  // namespace pel
