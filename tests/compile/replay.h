// Runs a graph op by op, as the function would: what compiled graphs are compared with.
#pragma once

#include "compile/graph_run.h"

namespace pel::test {

// `symbols` are those that the guards have returned for these inputs.
inline std::vector<Tensor> replay(const compiler::Graph& graph, ArrayView<Tensor> inputs,
                                  const std::vector<std::int64_t>& symbols) {
  compiler::GraphRun run(graph, symbols);
  for (std::size_t i = 0; i < inputs.size(); ++i) run[graph.inputs[i]] = inputs[i];
  for (std::size_t i = 0; i < graph.constants.size(); ++i) run[graph.constant_values[i]] = graph.constants[i];
  for (const compiler::GraphNode& node : graph.nodes) run.call(node);
  std::vector<Tensor> outputs;
  for (const compiler::ValueId id : graph.outputs) outputs.push_back(run[id]);
  return outputs;
}

}  // namespace pel::test
