// Calls of a graph over tensors without data, at given sizes: which kernels each would launch, and on what.
#pragma once

#include <utility>
#include <vector>

#include "compile/graph_run.h"
#include "dispatch/launch_recording.h"
#include "tensor/dim_context.h"

namespace pel::compiler {

// A value that no call has produced yet, such as an input, is a stand-in as the graph describes it: nothing
// is read, written or drawn. While a FakeRun lives, tensors that this thread makes have no data.
class FakeRun {
 public:
  // Both must live as long.
  FakeRun(const Graph& graph, const std::vector<std::int64_t>& symbols)
      : graph_(graph), run_(graph, symbols) {}

  const Graph& graph() const { return graph_; }
  const Tensor& operator[](ValueId id);
  bool has(ValueId id) { return run_[id].defined(); }  // produced by a call, or a stand-in
  void define(ValueId id, Tensor tensor) { run_[id] = std::move(tensor); }
  Dim number(Dim dim) const { return run_.number(dim); }
  std::vector<Value> arguments(const GraphNode& node) { return run_.arguments(node); }
  std::vector<RecordedLaunch> call(const GraphNode& node);

 private:
  NewDataScope without_data_{NewData::None};
  LaunchRecording recording_;
  const Graph& graph_;
  GraphRun run_;
};

}  // namespace pel::compiler
