// Calls that are one elementwise loop: what each computes, and the expression of several in one loop.
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
struct ElementwiseInput {
  std::optional<ValueId> value;
  DType dtype{};
};

struct ElementwiseCall {
  const Pointwise* facts = nullptr;  // null: a copy
  Computation computation{};
  std::vector<ElementwiseInput> inputs;
  ValueId output;
};

// What a call computes, from what it launched in `run`; none if it is not elementwise.
std::optional<ElementwiseCall> elementwise_call_of(const GraphNode& node,
                                                   const std::vector<RecordedLaunch>& launches, FakeRun& run);

// Scalar operations for one element; 1 for a copy.
std::size_t operations_of(const ElementwiseCall& call);

// What it computes for an element: `read` returns its inputs, `number` the numbers, in the order of
// `call_numbers`.
scalar::Term element_term(const ElementwiseCall& call, DType output,
                          const std::function<scalar::Term(const ElementwiseInput&)>& read,
                          const std::function<scalar::Term(DType)>& number);

// The expression of a fused loop: its arguments are the inputs, numbers the params, in the order of
// `call_numbers`.
scalar::ScalarExpr fused_expression(const Graph& graph, const GraphNode& fused,
                                    const std::vector<ElementwiseCall>& calls);
std::vector<LoopPart> call_parts(const std::vector<RecordedLaunch>& launches);
// The numbers that a call passes to its loop: those among its operands, then its own.
std::vector<PelScalar> call_numbers(const RecordedLaunch& launch);

// Operands and numbers of a fused kernel, at the sizes of a run.
struct LoopOperands {
  std::vector<Tensor> outputs, inputs;
  std::vector<PelScalar> numbers;
};
LoopOperands elementwise_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches,
                                  FakeRun& run);

}  // namespace pel::compiler
