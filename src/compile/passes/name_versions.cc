#include "compile/passes/name_versions.h"

#include <map>

#include <fmt/format.h>

#include "compile/effects.h"

namespace pel::compiler {

Graph name_versions(Graph graph, PassContext& context) {
  const GraphUses uses(graph);
  std::map<std::uint32_t, ValueId> latest;  // by the number of the value that was captured
  const auto read = [&](ValueId& id) {
    if (const auto found = latest.find(id.number); found != latest.end()) id = found->second;
  };
  for (GraphNode& node : graph.nodes) {
    for (GraphArg& arg : node.args) {
      if (ValueId* id = std::get_if<ValueId>(&arg)) read(*id);
      if (auto* ids = std::get_if<std::vector<ValueId>>(&arg))
        for (ValueId& id : *ids) read(id);
    }
    if (!writes(node) || node.results.size() != 1) continue;
    ValueId* const result = std::get_if<ValueId>(&node.results[0]);
    if (result == nullptr || uses.storages[graph[*result].storage].values != 1) continue;
    const ValueId captured = *result;
    GraphValue next = graph[captured];
    next.origin = GraphValue::Origin::Node;
    *result = {static_cast<std::uint32_t>(graph.values.size())};
    graph.values.push_back(std::move(next));
    latest.insert_or_assign(captured.number, *result);
    context.why.decisions.push_back(
        {"name_versions", fmt::format("%{} = {}", result->number, node.op->name()),
         fmt::format("it is what %{} holds from here on", captured.number), node.site});
  }
  for (ValueId& id : graph.outputs) read(id);
  return graph;
}

}  // namespace pel::compiler
