#include "compile/passes/fold_constants.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compile/effects.h"
#include "compile/graph_run.h"

namespace pel::compiler {
namespace {

constexpr std::int64_t kMaxBytes = 16 << 20;  // of one constant, which lives as long as the graph

bool is_fixed(const GraphArg& arg) {
  if (const Dim* dim = std::get_if<Dim>(&arg)) return !dim->is_symbolic();
  if (const Scalar* number = std::get_if<Scalar>(&arg)) return !number->is_symbolic();
  if (const auto* dims = std::get_if<std::vector<Dim>>(&arg))
    return std::ranges::none_of(*dims, [](Dim dim) { return dim.is_symbolic(); });
  return true;
}

}  // namespace

Graph fold_constants(Graph graph, PassContext& context) {
  const GraphUses uses(graph);
  std::set<std::uint32_t> folded;
  const std::vector<std::int64_t> no_symbols;
  GraphRun run(graph, no_symbols);
  std::vector<GraphNode> kept;
  for (GraphNode& node : graph.nodes) {
    bool is_constant = !writes(node) && !draws_random(node) && !communicates(node) &&
                       node.results.size() == 1 && std::holds_alternative<ValueId>(node.results[0]);
    bool reads_folded = false;
    for (const GraphArg& arg : node.args) {
      is_constant = is_constant && is_fixed(arg);
      for_values(arg, [&](ValueId id) {
        reads_folded = true;
        is_constant = is_constant && folded.contains(id.number);
      });
    }
    if (is_constant) {
      const ValueId id = std::get<ValueId>(node.results[0]);
      const GraphValue& value = graph[id];
      Dim bytes = size_bytes(value.dtype);
      for (const Dim size : value.sizes) is_constant = is_constant && !size.is_symbolic();
      for (const Dim size : value.sizes) bytes = is_constant ? bytes * size : bytes;
      // A result of the function is new memory at each call; `empty` makes memory to be written.
      const GraphUses::Storage& storage = uses.storages[value.storage];
      is_constant = is_constant && !storage.is_written && !storage.is_returned &&
                    bytes.value() <= kMaxBytes && (reads_folded || node.op->name() != "empty");
    }
    if (!is_constant) {
      kept.push_back(std::move(node));
      continue;
    }
    const ValueId id = std::get<ValueId>(node.results[0]);
    run.call(node);
    graph.values[id.number].origin = GraphValue::Origin::Constant;
    graph.constants.push_back(run[id]);
    graph.constant_values.push_back(id);
    folded.insert(id.number);
    context.why.decisions.push_back({"fold_constants", fmt::format("%{} = {}", id.number, node.op->name()),
                                     "it depends on no input and no size", node.site});
  }
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace pel::compiler
