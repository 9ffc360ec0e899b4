#include "compile/passes/fold_constants.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compile/effects.h"
#include "compile/fake_run.h"
#include "compile/graph_run.h"

namespace pel::compiler {
namespace {

constexpr std::int64_t kMostBytes = 16 << 20;  // of one constant, which is kept as long as the graph

bool is_fixed(const GraphArg& arg) {
  if (const Dim* dim = std::get_if<Dim>(&arg)) return !dim->is_symbolic();
  if (const Scalar* number = std::get_if<Scalar>(&arg)) return !number->is_symbolic();
  if (const auto* dims = std::get_if<std::vector<Dim>>(&arg))
    return std::ranges::none_of(*dims, [](Dim dim) { return dim.is_symbolic(); });
  return true;
}

}  // namespace

Graph fold_constants(Graph graph, Explanation& why) {
  const std::vector<bool> is_written = written_storages(graph);
  std::vector<bool> is_given_back(is_written.size());
  for (const ValueId id : graph.outputs) is_given_back[graph[id].storage] = true;
  std::set<std::uint32_t> folded;
  const std::vector<std::int64_t> no_symbols;
  const Graph as_it_was = graph;
  GraphRun run(as_it_was, no_symbols);
  std::vector<GraphNode> kept;
  for (GraphNode& node : graph.nodes) {
    bool is_constant = !writes(node) && !draws_random(node) && node.results.size() == 1 &&
                       std::holds_alternative<ValueId>(node.results[0]);
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
      // What is given back is new memory at each call; what is empty is there to be written.
      is_constant = is_constant && !is_written[value.storage] && !is_given_back[value.storage] &&
                    bytes.value() <= kMostBytes && (reads_folded || node.op->name() != "empty");
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
    why.decisions.push_back({"fold_constants", fmt::format("%{} = {}", id.number, node.op->name()),
                             "it depends on no input and no size", node.site});
  }
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace pel::compiler
