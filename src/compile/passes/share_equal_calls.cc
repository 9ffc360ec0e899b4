#include "compile/passes/share_equal_calls.h"

#include <map>

#include <fmt/format.h>

#include "compile/effects.h"

namespace pel::compiler {
namespace {

// Equal ones are equal calls.
std::string key_of(const GraphNode& node, const Graph& graph) {
  std::string key(node.op->name());
  for (const GraphArg& arg : node.args) key += " " + to_string(arg, *graph.sizes);
  return key;
}

}  // namespace

Graph share_equal_calls(Graph graph, PassContext& context) {
  const GraphUses uses(graph);
  std::map<std::string, std::size_t, std::less<>> first;
  std::map<std::uint32_t, ValueId> instead;
  const auto read = [&](ValueId& id) {
    if (const auto found = instead.find(id.number); found != instead.end()) id = found->second;
  };
  std::vector<GraphNode> kept;
  for (GraphNode& node : graph.nodes) {
    for (GraphArg& arg : node.args) {
      if (ValueId* id = std::get_if<ValueId>(&arg)) read(*id);
      if (auto* ids = std::get_if<std::vector<ValueId>>(&arg))
        for (ValueId& id : *ids) read(id);
    }
    bool may_share = !writes(node) && !draws_random(node) && !communicates(node) &&
                     node.results.size() == 1 && std::holds_alternative<ValueId>(node.results[0]);
    const auto look = [&](ValueId id) {
      may_share = may_share && !uses.storages[graph[id].storage].is_written;
    };
    for (const GraphArg& arg : node.args) for_values(arg, look);
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        look(id);
        may_share = may_share && !uses.storages[graph[id].storage].is_returned;
      });
    }
    if (may_share) {
      const auto [earlier, is_new] = first.emplace(key_of(node, graph), kept.size());
      if (!is_new) {
        const ValueId gone = std::get<ValueId>(node.results[0]);
        const ValueId same = std::get<ValueId>(kept[earlier->second].results[0]);
        instead.emplace(gone.number, same);
        context.why.decisions.push_back({"share_equal_calls",
                                         fmt::format("%{} = {}", gone.number, node.op->name()),
                                         fmt::format("%{} is the same", same.number), node.site});
        continue;
      }
    }
    kept.push_back(std::move(node));
  }
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace pel::compiler
