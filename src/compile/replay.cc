#include "compile/replay.h"

#include "compile/graph_run.h"

namespace pel::compiler {

std::vector<Tensor> replay(const Graph& graph, ArrayView<Tensor> inputs,
                           const std::vector<std::int64_t>& symbols) {
  GraphRun run(graph, symbols);
  for (std::size_t i = 0; i < inputs.size(); ++i) run[graph.inputs[i]] = inputs[i];
  for (std::size_t i = 0; i < graph.constants.size(); ++i) run[graph.constant_values[i]] = graph.constants[i];
  for (const GraphNode& node : graph.nodes) run.call(node);
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(run[id]);
  return outputs;
}

}  // namespace pel::compiler
