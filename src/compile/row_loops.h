// Calls that are one kernel over rows, and what several of them with loops over elements compute together.
#pragma once

#include <string>
#include <variant>

#include "compile/loops.h"

namespace pel::compiler {

struct RowCall {
  const RowProgram* program = nullptr;
  DType compute{};
  std::vector<ValueId> inputs;                  // the first has the sizes
  std::vector<std::optional<ValueId>> outputs;  // none: nobody reads it
  std::uint64_t reduced = 0;                    // axes, a bit each
  bool is_by_columns = false;                   // neighbours in memory are of different rows
};
using FusedCall = std::variant<LoopCall, RowCall>;

// What a call computes, from what it launched in `run`; none where it is no kernel over rows.
std::optional<RowCall> row_call_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                   FakeRun& run);
std::optional<FusedCall> fused_call_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                       FakeRun& run);

// The code of a fused node.
LoopSource source_of(const Graph& graph, const GraphNode& fused, const std::vector<FusedCall>& calls);

// One kernel for calls in their order, over `inputs`, which gives `outputs`.
struct FusedRows {
  std::optional<RowLoops> loops;
  std::string reason;  // why there is none
};
FusedRows fuse_row_calls(const Graph& graph, const std::vector<ValueId>& inputs,
                         const std::vector<ValueId>& outputs, const std::vector<FusedCall>& calls);

// Operands of such a kernel at the sizes of a run, with the rank of the rows, and its numbers.
struct RowOperands {
  std::vector<Tensor> outputs, inputs;
  std::vector<PelScalar> numbers;
};
RowOperands row_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches, FakeRun& run);

}  // namespace pel::compiler
