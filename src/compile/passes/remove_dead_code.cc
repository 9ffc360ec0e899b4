#include "compile/passes/remove_dead_code.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/effects.h"

namespace pel::compile {

Graph remove_dead_code(Graph graph, Explanation& why) {
  std::vector<bool> is_read(graph.values.size());
  for (const ValueId id : graph.outputs) is_read[id.number] = true;
  std::vector<GraphNode> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool is_needed = writes(*node) || draws_random(*node);
    std::uint32_t first = 0;
    for (const GraphArg& result : node->results) {
      for_values(result, [&](ValueId id) {
        is_needed = is_needed || is_read[id.number];
        first = id.number;
      });
    }
    if (!is_needed) {
      why.decisions.push_back({"remove_dead_code", fmt::format("%{} = {}", first, node->op->name()),
                               "nothing reads it", node->site});
      continue;
    }
    for (const GraphArg& arg : node->args) for_values(arg, [&](ValueId id) { is_read[id.number] = true; });
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace pel::compile
