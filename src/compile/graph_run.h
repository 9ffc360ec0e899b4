// The calls of a graph, one after the other, through the ops: over tensors with data it computes, over
// tensors without it finds sizes.
#pragma once

#include <vector>

#include "compile/graph.h"

namespace pel::compiler {

class GraphRun {
 public:
  // Both arguments must live as long.
  GraphRun(const Graph& graph, const std::vector<std::int64_t>& symbols)
      : graph_(graph), symbols_(&symbols), tensors_(graph.values.size()) {}
  // With symbols for sizes: only arguments are to be had.
  explicit GraphRun(const Graph& graph) : graph_(graph), symbols_(nullptr), tensors_(graph.values.size()) {}

  Tensor& operator[](ValueId id) { return tensors_[id.number]; }
  // The calls of a fused loop are made one by one. Throws InternalError where a result is not as the graph
  // says, which is what passes go by.
  void call(const GraphNode& node);

  // As the op takes them.
  std::vector<Value> arguments(const GraphNode& node);
  Dim number(Dim dim) const;

 private:
  void set(ValueId id, const Tensor& tensor, const Op& op);
  void keep(const GraphArg& result, const Value& value, const Op& op);

  const Graph& graph_;
  const std::vector<std::int64_t>* symbols_;
  std::vector<Tensor> tensors_;
};

}  // namespace pel::compiler
