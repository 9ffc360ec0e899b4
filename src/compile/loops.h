// Calls that are one loop over elements: what each computes, and the expression of several in one loop.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compile/fake_run.h"
#include "compile/graph.h"
#include "dispatch/loop_compiler.h"
#include "ir/scalar.h"

namespace pel::compiler {

// What a loop reads: a value, or a number that is stored as `dtype`.
struct LoopInput {
  std::optional<ValueId> value;
  DType dtype{};
};

struct LoopCall {
  const Pointwise* facts = nullptr;  // null: a copy
  Computation computation{};
  std::vector<LoopInput> inputs;
  ValueId output;
};

// What a call computes, from what it launched in `run`; none where it is no loop over elements.
std::optional<LoopCall> loop_of(const GraphNode& node, const std::vector<RecordedLaunch>& launches,
                                FakeRun& run);

// What it computes for an element: `read` gives its inputs, `number` the numbers, in the order in which
// `loop_numbers` gives them.
scalar::Term loop_term(const LoopCall& call, DType output,
                       const std::function<scalar::Term(const LoopInput&)>& read,
                       const std::function<scalar::Term(DType)>& number);

// The expression of a fused loop: its arguments are the inputs, numbers the params, in the order in which
// `loop_numbers` gives them.
scalar::ScalarExpr fused_expression(const Graph& graph, const GraphNode& fused,
                                    const std::vector<LoopCall>& calls);
std::vector<LoopPart> loop_parts(const std::vector<RecordedLaunch>& launches);
// The numbers that a call gives to its loop: those given as operands, then its own.
std::vector<PelScalar> loop_numbers(const RecordedLaunch& launch);

}  // namespace pel::compiler
