// Calls that are one row kernel, such as a reduction over the last axis or a softmax: what each computes, and
// the operands of several in one kernel.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "compile/elementwise_calls.h"

namespace pel::compiler {

struct RowCall {
  const RowProgram* program = nullptr;
  DType compute{};
  std::vector<Dim> sizes;  // that the inputs broadcast to
  std::vector<ValueId> inputs;
  std::vector<std::optional<ValueId>> outputs;  // none: nothing consumes it
  std::uint64_t reduced = 0;                    // axes, a bit each
  bool is_by_columns = false;                   // neighbours in memory are of different rows
};
using FusedCall = std::variant<ElementwiseCall, RowCall>;

// What a call computes, from what it launched in `run`; none if it is not one row kernel.
std::optional<RowCall> row_call_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                   FakeRun& run);
std::optional<FusedCall> fused_call_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                       FakeRun& run);

// Operands of a fused row kernel at the sizes of a run, with the rank of the rows, and its numbers.
LoopOperands row_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches, FakeRun& run);

}  // namespace pel::compiler
