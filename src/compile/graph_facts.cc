#include "compile/graph_facts.h"

#include <algorithm>

#include "base/check.h"
#include "compile/effects.h"
#include "device/registry.h"
#include "dispatch/loop_compiler.h"

namespace pel::compiler {

GraphUses::GraphUses(const Graph& graph)
    : producer(graph.values.size()), consumers(graph.values.size()), is_output(graph.values.size()) {
  for (std::uint32_t v = 0; v < graph.values.size(); ++v) {
    const GraphValue& value = graph.values[v];
    if (storages.size() <= value.storage) storages.resize(value.storage + 1);
    Storage& storage = storages[value.storage];
    ++storage.values;
    storage.last = {v};
    storage.is_callers = storage.is_callers || value.origin != GraphValue::Origin::Node;
  }
  for (const ValueId id : graph.outputs) {
    is_output[id.number] = true;
    storages[graph[id].storage].is_returned = true;
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    for (const GraphArg& result : node.results) {
      for_values(result, [&](ValueId id) {
        if (!producer[id.number]) producer[id.number] = n;
      });
    }
    for (const GraphArg& arg : node.args) {
      for_values(arg, [&](ValueId id) {
        std::vector<std::size_t>& list = consumers[id.number];
        if (list.empty() || list.back() != n) list.push_back(n);
      });
    }
    for (const ValueId id : written_values(node)) storages[graph[id].storage].is_written = true;
  }
}

namespace {

// The values of a call in the order in which they occur in it, arguments first.
std::vector<ValueId> values_of(const GraphNode& node) {
  std::vector<ValueId> values;
  const auto add = [&](ValueId id) { values.push_back(id); };
  for (const GraphArg& arg : node.args) for_values(arg, add);
  for (const GraphArg& result : node.results) for_values(result, add);
  return values;
}

// f(id) for each value that a call names, to replace it.
template <class F>
void replace_values(ElementwiseCall& call, F&& f) {
  for (ElementwiseInput& input : call.inputs)
    if (input.value) f(*input.value);
  f(call.output);
}
template <class F>
void replace_values(RowCall& call, F&& f) {
  for (ValueId& id : call.inputs) f(id);
  for (std::optional<ValueId>& id : call.outputs)
    if (id) f(*id);
}

void to_positions(FusedCall& call, const GraphNode& node) {
  const std::vector<ValueId> values = values_of(node);
  const auto replace = [&](ValueId& id) {
    id = {static_cast<std::uint32_t>(std::ranges::find(values, id) - values.begin())};
  };
  std::visit([&](auto& kind) { replace_values(kind, replace); }, call);
}
void to_values(FusedCall& call, const GraphNode& node) {
  const std::vector<ValueId> values = values_of(node);
  const auto replace = [&](ValueId& id) { id = values[id.number]; };
  std::visit([&](auto& kind) { replace_values(kind, replace); }, call);
}

}  // namespace

bool compiles_loops(Device device) { return loop_compiler(kernels_of(device)) != nullptr; }
bool compiles_loops(const Graph& graph) {
  return std::ranges::any_of(graph.values,
                             [](const GraphValue& value) { return compiles_loops(value.device); });
}

const CallFacts& GraphFacts::of(const Graph& graph, const GraphNode& node) {
  PEL_ASSERT(!node.is_fused(), "the calls of a fused node have facts, it has none");
  ContentWords content = node_content(graph, node);
  if (const auto found = facts_.find(content); found != facts_.end()) return found->second;
  CallFacts facts;
  FakeRun run(graph, graph.sizes->hints());
  const std::vector<RecordedLaunch> launches = run.call(node);
  facts.launches_nothing = launches.empty();
  facts.counts_flops = std::ranges::any_of(launches, [](const RecordedLaunch& launch) {
    return launch.kernel != nullptr && launch.kernel->flops != nullptr;
  });
  facts.parts = call_parts(launches);
  facts.call = fused_call_of(node, launches, run);
  if (facts.call) to_positions(*facts.call, node);
  return facts_.emplace(std::move(content), std::move(facts)).first->second;
}

std::optional<FusedCall> GraphFacts::fused_call(const Graph& graph, const GraphNode& node) {
  if (node.is_fused()) return std::nullopt;
  std::optional<FusedCall> call = of(graph, node).call;
  if (call) to_values(*call, node);
  return call;
}

std::optional<ElementwiseCall> GraphFacts::elementwise_call(const Graph& graph, const GraphNode& node) {
  std::optional<FusedCall> call = fused_call(graph, node);
  if (!call || !std::holds_alternative<ElementwiseCall>(*call)) return std::nullopt;
  return std::get<ElementwiseCall>(*std::move(call));
}

}  // namespace pel::compiler
