#include "compile/effects.h"

#include <algorithm>

#include "dispatch/record.h"

namespace pel::compile {

bool writes(const GraphNode& node) {
  return std::ranges::any_of(node.op->record().schema.args,
                             [](const SchemaArg& arg) { return arg.alias.is_written; });
}

bool draws_random(const GraphNode& node) {
  return std::ranges::any_of(node.op->record().schema.args,
                             [](const SchemaArg& arg) { return arg.name == "seed"; });
}

std::vector<bool> written_storages(const Graph& graph) {
  std::uint32_t count = 0;
  for (const GraphValue& value : graph.values) count = std::max(count, value.storage + 1);
  std::vector<bool> written(count);
  for (const GraphNode& node : graph.nodes) {
    const auto& schema = node.op->record().schema.args;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      if (schema[i].alias.is_written)
        for_values(node.args[i], [&](ValueId id) { written[graph[id].storage] = true; });
    }
  }
  return written;
}

}  // namespace pel::compile
