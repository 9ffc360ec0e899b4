// Matmuls that take elementwise calls over their result: what they compute together, and their operands.
#pragma once

#include <optional>
#include <vector>

#include "compile/elementwise_calls.h"
#include "compile/graph_facts.h"

namespace pel::compiler {

struct GemmCall {
  DType dtype{};
  bool adds = false;  // a third operand
  ValueId output;
};

// None if the call is not one launch of a matmul of floating-point numbers.
std::optional<GemmCall> gemm_call_of(const Graph& graph, const GraphNode& node, GraphFacts& facts);

// Whether two matmuls may be one kernel with two sums: they multiply one left operand, and add nothing.
bool share_left_operand(const GraphNode& a, const GraphNode& b);

// The matrices that the matmuls of a node, or of a fused node, read as right operands, in the kernel's order.
std::vector<ValueId> right_matrices(const GraphNode& node);

// The code of a fused node: one matmul or two, views of their results, and elementwise calls.
LoopSource gemm_source(const Graph& graph, const GraphNode& fused, GraphFacts& facts);

// Operands and numbers at the sizes of a run. None if the calls must run one by one there: a matmul without
// the operand that it adds, because its factor is 0; one by another kernel; a tensor that is not a matrix.
std::optional<LoopOperands> gemm_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches,
                                          FakeRun& run);

}  // namespace pel::compiler
