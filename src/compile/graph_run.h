// Calls the ops of a graph one by one: over tensors with data to compute, over tensors without to find sizes.
#pragma once

#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

class GraphRun {
 public:
  // Both arguments must live as long.
  GraphRun(const Graph& graph, const std::vector<std::int64_t>& symbols)
      : graph_(graph), symbols_(&symbols), tensors_(graph.values.size()) {}
  // With symbols for sizes: for `arguments` alone.
  explicit GraphRun(const Graph& graph) : graph_(graph), symbols_(nullptr), tensors_(graph.values.size()) {}

  Tensor& operator[](ValueId id) { return tensors_[id.number]; }
  // Calls the ops of a fused node one by one. Throws InternalError if a result is not as the graph describes
  // it: passes rely on that.
  void call(const GraphNode& node);

  // As the op takes them.
  std::vector<Value> arguments(const GraphNode& node);
  Dim number(Dim dim) const;

 private:
  void set(ValueId id, const Tensor& tensor, const Op& op);
  void store(const GraphArg& result, const Value& value, const Op& op);

  const Graph& graph_;
  const std::vector<std::int64_t>* symbols_;
  std::vector<Tensor> tensors_;
};

}  // namespace pel::compiler
