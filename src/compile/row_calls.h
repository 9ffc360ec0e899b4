// Calls that are one kernel over rows: what each computes, and the operands of several in one kernel.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "compile/loops.h"

namespace pel::compiler {

struct RowCall {
  const RowProgram* program = nullptr;
  DType compute{};
  std::vector<Dim> sizes;  // that the inputs broadcast to
  std::vector<ValueId> inputs;
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

// Operands of a fused kernel over rows at the sizes of a run, with the rank of the rows, and its numbers.
struct RowOperands {
  std::vector<Tensor> outputs, inputs;
  std::vector<PelScalar> numbers;
};
RowOperands row_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches, FakeRun& run);

}  // namespace pel::compiler
