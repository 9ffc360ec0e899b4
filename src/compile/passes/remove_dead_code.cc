#include "compile/passes/remove_dead_code.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/effects.h"

namespace pel::compiler {

Graph remove_dead_code(Graph graph, PassContext& context) {
  std::vector<bool> is_consumed(graph.values.size());
  for (const ValueId id : graph.outputs) is_consumed[id.number] = true;
  const GraphUses uses(graph);
  // A write to memory of the function that produces a value of its own is seen by consumers of that value
  // only.
  const auto is_seen_write = [&](const GraphNode& node) {
    if (!writes(node)) return false;
    const std::vector<ValueId> written = written_values(node);
    return !std::ranges::all_of(written, [&](ValueId id) {
      return !uses.storages[graph[id].storage].is_callers && is_named(graph, node, id);
    });
  };
  std::vector<GraphNode> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool is_needed = is_seen_write(*node) || draws_random(*node) || communicates(*node);
    std::uint32_t first = 0;
    for (const GraphArg& result : node->results) {
      for_values(result, [&](ValueId id) {
        is_needed = is_needed || is_consumed[id.number];
        first = id.number;
      });
    }
    if (!is_needed) {
      context.why.decisions.push_back({"remove_dead_code", fmt::format("%{} = {}", first, node->op->name()),
                                       "nothing reads it", node->site});
      continue;
    }
    for (const GraphArg& arg : node->args)
      for_values(arg, [&](ValueId id) { is_consumed[id.number] = true; });
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace pel::compiler
