#include "compile/passes/remove_dead_code.h"

#include <algorithm>

#include <fmt/format.h>

#include "compile/effects.h"

namespace pel::compiler {

Graph remove_dead_code(Graph graph, Explanation& why) {
  std::vector<bool> is_read(graph.values.size());
  for (const ValueId id : graph.outputs) is_read[id.number] = true;
  std::vector<bool> is_callers;  // storages
  for (const GraphValue& value : graph.values) {
    is_callers.resize(std::max<std::size_t>(is_callers.size(), value.storage + 1));
    if (value.origin != GraphValue::Origin::Node) is_callers[value.storage] = true;
  }
  // A write that gives a value of its own to the function's own memory is seen by those who read that value.
  const auto is_seen_write = [&](const GraphNode& node) {
    if (!writes(node)) return false;
    const std::vector<ValueId> written = written_values(node);
    return !std::ranges::all_of(
        written, [&](ValueId id) { return !is_callers[graph[id].storage] && is_named(graph, node, id); });
  };
  std::vector<GraphNode> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool is_needed = is_seen_write(*node) || draws_random(*node);
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

}  // namespace pel::compiler
