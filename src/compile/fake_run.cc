#include "compile/fake_run.h"

#include "base/check.h"
#include "compile/effects.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel::compiler {

FakeRun::FakeRun(const Graph& graph, const std::vector<std::int64_t>& symbols)
    : graph_(graph), run_(graph, symbols) {
  const auto stand_in = [&](ValueId id) {
    if (run_[id].defined()) return;
    const GraphValue& value = graph[id];
    std::vector<Dim> sizes, strides;
    for (const Dim size : value.sizes) sizes.push_back(run_.number(size));
    for (const Dim stride : value.strides) strides.push_back(run_.number(stride));
    run_[id] = make_strided(sizes, strides, value.dtype, value.device);
  };
  for (const ValueId id : graph.inputs) stand_in(id);
  for (const ValueId id : graph.constant_values) stand_in(id);
}

// Storages without data have no end that the op could check.
void FakeRun::check_window(const GraphNode& node) {
  if (node.is_fused() || node.op != &op<"as_strided">()) return;
  const ValueId seen = std::get<ValueId>(node.results[0]);
  const auto last_of = [](const Tensor& t) {
    Dim last = t.storage_offset();
    for (std::size_t axis = 0; axis < t.sizes().size(); ++axis) {
      if (t.sizes()[axis] == 0) return Dim(-1);
      last += (t.sizes()[axis] - 1) * t.strides()[axis];
    }
    return last;
  };
  for (std::uint32_t first = 0; first < graph_.values.size();
       ++first) {  // the one that has all of the storage
    const Tensor& whole = run_[ValueId{first}];
    if (graph_.values[first].storage != graph_[seen].storage || !whole.defined() || whole.has_data())
      continue;
    PEL_CHECK(last_of(run_[seen]) <= last_of(whole), ValueError,
              "as_strided: {} with strides {} reaches beyond the {} that it is a view of",
              describe(run_[seen]), to_string(run_[seen].strides()), describe(whole));
    return;
  }
}

std::vector<RecordedLaunch> FakeRun::call(const GraphNode& node) {
  const KeyScope unseen({}, Key::Profile);
  if (draws_random(node)) {
    GraphNode named = node;
    name_stream(*node.op, named.args);
    run_.call(named);
  } else {
    run_.call(node);
  }
  check_window(node);
  return recording_.take();
}

}  // namespace pel::compiler
