#include "compile/effects.h"

#include <algorithm>

#include "dispatch/record.h"

namespace pel::compiler {

bool writes(const GraphNode& node) {
  if (node.is_fused()) return false;
  return std::ranges::any_of(node.op->record().schema.args,
                             [](const SchemaArg& arg) { return arg.alias.is_written; });
}

bool draws_random(const GraphNode& node) {
  if (node.is_fused()) return false;
  return std::ranges::any_of(node.op->record().schema.args,
                             [](const SchemaArg& arg) { return arg.name == "seed"; });
}

bool communicates(const GraphNode& node) { return !node.is_fused() && node.op->communicates(); }

std::vector<ValueId> written_values(const GraphNode& node) {
  std::vector<ValueId> written;
  if (node.is_fused()) {
    for (const GraphNode& inner : node.body) {
      for (const ValueId id : written_values(inner))
        if (has_value(node.args, id)) written.push_back(id);
    }
    return written;
  }
  const auto& schema = node.op->record().schema.args;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if (schema[i].alias.is_written) for_values(node.args[i], [&](ValueId id) { written.push_back(id); });
  }
  return written;
}

bool is_named(const Graph& graph, const GraphNode& node, ValueId written) {
  bool found = false;
  for (const GraphArg& result : node.results) {
    for_values(result, [&](ValueId id) {
      found = found || (id != written && graph[id].storage == graph[written].storage);
    });
  }
  return found;
}

std::vector<bool> written_storages(const Graph& graph) {
  std::uint32_t count = 0;
  for (const GraphValue& value : graph.values) count = std::max(count, value.storage + 1);
  std::vector<bool> written(count);
  for (const GraphNode& node : graph.nodes)
    for (const ValueId id : written_values(node)) written[graph[id].storage] = true;
  return written;
}

}  // namespace pel::compiler
