// A graph's calls over tensors without data, at given sizes: which kernels each would launch, and on what.
#pragma once

#include <vector>

#include "compile/graph_run.h"
#include "dispatch/launch_recording.h"
#include "tensor/dim_context.h"

namespace pel::compiler {

// Inputs and constants are stand-ins: nothing is read, written or drawn. While it lives, tensors that this
// thread makes have no data.
class FakeRun {
 public:
  FakeRun(const Graph& graph, const std::vector<std::int64_t>& symbols);

  const Graph& graph() const { return graph_; }
  const Tensor& operator[](ValueId id) { return run_[id]; }
  Dim number(Dim dim) const { return run_.number(dim); }
  std::vector<Value> arguments(const GraphNode& node) { return run_.arguments(node); }
  std::vector<RecordedLaunch> call(const GraphNode& node);

 private:
  void check_window(const GraphNode& node);

  NewDataScope without_data_{NewData::None};
  LaunchRecording recording_;
  const Graph& graph_;
  GraphRun run_;
};

}  // namespace pel::compiler
