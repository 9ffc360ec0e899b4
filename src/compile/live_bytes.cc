#include "compile/live_bytes.h"

#include <algorithm>
#include <numeric>

#include "dispatch/rows.h"

namespace pel::compiler {
namespace {

// From the first element to the end of the last.
std::int64_t span_bytes(const GraphValue& value, const SymbolicSizes& sizes) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < value.sizes.size(); ++axis) {
    const std::int64_t size = sizes.evaluate(value.sizes[axis], sizes.hints());
    if (size == 0) return 0;
    last += (size - 1) * sizes.evaluate(value.strides[axis], sizes.hints());
  }
  return (last + 1) * size_bytes(value.dtype);
}

// Whether a plan may put a result where an operand of its size lies.
bool writes_in_place(const GraphNode& node) {
  // A row kernel overwrites an input if it writes the elements of its rows once, and at its end.
  if (node.kind == NodeKind::FusedGemm) return false;
  if (node.is_fused()) return node.kind == NodeKind::FusedElementwise || node.results.size() == 1;
  if (const Rows* rows = node.op->rows())
    return std::ranges::any_of(rows->programs,
                               [](const RowProgram& program) { return overwrites(program.outputs) != 0; });
  return node.op->pointwise() != nullptr;
}

}  // namespace

std::vector<std::size_t> given_order(const Graph& graph) {
  std::vector<std::size_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

LiveBytes::LiveBytes(const Graph& graph) {
  std::uint32_t storages = 0;
  for (const GraphValue& value : graph.values) storages = std::max(storages, value.storage + 1);
  bytes_.resize(storages);
  is_returned_.resize(storages);
  std::vector<bool> is_callers(storages);
  const auto callers = [&](ValueId id) { is_callers[graph[id].storage] = true; };
  std::ranges::for_each(graph.inputs, callers);
  std::ranges::for_each(graph.constant_values, callers);
  for (const ValueId id : graph.outputs) is_returned_[graph[id].storage] = true;
  for (const GraphNode& node : graph.nodes) {
    std::vector<std::uint32_t>& touched = touched_.emplace_back();
    const auto touch = [&](ValueId id) {
      const std::uint32_t storage = graph[id].storage;
      if (is_callers[storage]) return;
      if (std::ranges::find(touched, storage) == touched.end()) touched.push_back(storage);
      bytes_[storage] = std::max(bytes_[storage], span_bytes(graph[id], *graph.sizes));
    };
    for (const GraphArg& arg : node.args) for_values(arg, touch);
    for (const GraphArg& result : node.results) for_values(result, touch);
    writes_in_place_.push_back(writes_in_place(node));
  }
}

std::vector<std::int64_t> LiveBytes::at(const std::vector<std::size_t>& order) const {
  constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::vector<std::size_t> first(bytes_.size(), kNever), last(bytes_.size());
  for (std::size_t step = 0; step < order.size(); ++step) {
    for (const std::uint32_t storage : touched_[order[step]]) {
      if (first[storage] == kNever) first[storage] = step;
      last[storage] = step;
    }
  }
  std::vector<std::int64_t> change(order.size() + 1), live(order.size());
  for (std::uint32_t storage = 0; storage < bytes_.size(); ++storage) {
    if (first[storage] == kNever) continue;
    change[first[storage]] += bytes_[storage];
    change[is_returned_[storage] ? order.size() : last[storage] + 1] -= bytes_[storage];
  }
  std::int64_t now = 0;
  for (std::size_t step = 0; step < order.size(); ++step) {
    live[step] = now += change[step];
    if (!writes_in_place_[order[step]]) continue;
    // Each result overwrites one operand of its size that is not used later.
    std::vector<std::int64_t> ends, begins;
    for (const std::uint32_t storage : touched_[order[step]]) {
      const bool does_end = last[storage] == step && !is_returned_[storage];
      if (does_end && first[storage] != step) ends.push_back(bytes_[storage]);
      if (first[storage] == step && !does_end) begins.push_back(bytes_[storage]);
    }
    for (const std::int64_t bytes : begins) {
      const auto overwritten = std::ranges::find(ends, bytes);
      if (overwritten == ends.end()) continue;
      live[step] -= bytes;
      ends.erase(overwritten);
    }
  }
  return live;
}

std::int64_t LiveBytes::peak(const std::vector<std::size_t>& order) const {
  std::int64_t most = 0;
  for (const std::int64_t bytes : at(order)) most = std::max(most, bytes);
  return most;
}

}  // namespace pel::compiler
