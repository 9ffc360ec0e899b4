#include "compile/elementwise_calls.h"

#include <unordered_map>

#include "base/check.h"
#include "compile/effects.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "dispatch/rows.h"
#include "tensor/element.h"

namespace pel::compiler {
namespace {

bool is_number(const Tensor& t) { return t.header()->is_number && t.has_data(); }

}  // namespace

std::optional<ElementwiseCall> elementwise_call_of(const GraphNode& node,
                                                   const std::vector<RecordedLaunch>& launches,
                                                   FakeRun& run) {
  if (node.is_fused() || draws_random(node) || launches.size() != 1 || node.results.size() != 1)
    return std::nullopt;
  const RecordedLaunch& launch = launches[0];
  const ValueId* result = std::get_if<ValueId>(&node.results[0]);
  if (result == nullptr || launch.outputs.size() != 1 || !run[*result].is_same(launch.outputs[0]))
    return std::nullopt;
  ElementwiseCall call;
  call.output = *result;
  if (launch.op->pointwise() != nullptr && launch.computation) {
    call.facts = launch.op->pointwise();
    call.computation = *launch.computation;
  } else if (launch.op != &op<"copy_">()) {
    return std::nullopt;
  }
  for (const Tensor& input : launch.inputs) {
    ElementwiseInput& read = call.inputs.emplace_back();
    read.dtype = input.dtype();
    if (is_number(input)) continue;
    for (const GraphArg& arg : node.args) {
      for_values(arg, [&](ValueId id) {
        if (run[id].is_same(input)) read.value = id;
      });
    }
    if (!read.value) return std::nullopt;  // it reads what it has produced itself
  }
  return call;
}

std::size_t operations_of(const ElementwiseCall& call) {
  if (call.facts == nullptr) return 1;
  return make_expr(*call.facts, call.computation.formula, call.computation.dtype).nodes.size();
}

scalar::Term element_term(const ElementwiseCall& call, DType output,
                          const std::function<scalar::Term(const ElementwiseInput&)>& read,
                          const std::function<scalar::Term(DType)>& number) {
  const auto operand = [&](const ElementwiseInput& input) {
    return input.value ? read(input) : number(input.dtype);
  };
  if (call.facts == nullptr) return cast(operand(call.inputs[0]), output);
  // As a kernel of its own would: operands are converted to what it computes in, as they are stored.
  const Pointwise& facts = *call.facts;
  const DType compute = call.computation.dtype, type = value_type(compute);
  std::vector<scalar::Term> inputs, params;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const scalar::Term read_now = operand(call.inputs[i]);
    const bool is_condition = i == 0 && facts.takes_condition;
    inputs.push_back(is_condition ? cast(read_now, kBool) : cast(cast(read_now, compute), type));
  }
  for (int i = 0; i < facts.param_count; ++i) params.push_back(number(type));
  const scalar::Term computed = facts.formulas[call.computation.formula].term(compute, inputs, params);
  return cast(cast(computed, facts.result_dtype(compute)), output);
}

scalar::ScalarExpr fused_expression(const Graph& graph, const GraphNode& fused,
                                    const std::vector<ElementwiseCall>& calls) {
  scalar::ScalarBuilder builder;
  std::unordered_map<std::uint32_t, scalar::Term> terms;
  for (const GraphArg& arg : fused.args) {
    const ValueId id = std::get<ValueId>(arg);
    terms.emplace(id.number, builder.input(graph[id].dtype));
  }
  for (const ElementwiseCall& call : calls) {
    const scalar::Term computed = element_term(
        call, graph[call.output].dtype,
        [&](const ElementwiseInput& input) { return terms.at(input.value->number); },
        [&](DType dtype) { return builder.param(dtype); });
    terms.insert_or_assign(call.output.number, computed);
  }
  std::vector<scalar::Term> results;
  for (const GraphArg& result : fused.results) results.push_back(terms.at(std::get<ValueId>(result).number));
  return builder.finish(results);
}

std::vector<LoopPart> call_parts(const std::vector<RecordedLaunch>& launches) {
  std::vector<LoopPart> parts;
  for (const RecordedLaunch& launch : launches) {
    LoopPart& part = parts.emplace_back();
    part.op = launch.op;
    if (launch.computation) {
      part.dtype = launch.computation->dtype;
      part.formula = launch.computation->formula;
    }
  }
  return parts;
}

std::vector<PelScalar> call_numbers(const RecordedLaunch& launch) {
  std::vector<PelScalar> numbers;
  if (const Rows* rows = launch.op->rows(); rows != nullptr && launch.computation) {
    numbers.assign(launch.numbers.begin() + 1,
                   launch.numbers.end());  // the first says which axes are reduced
    numbers.resize(static_cast<std::size_t>(rows->programs[launch.computation->formula].param_count));
    return numbers;
  }
  for (const Tensor& input : launch.inputs)
    if (is_number(input)) numbers.push_back(number_argument(load_element(input.dtype(), input.raw_data())));
  const std::size_t operands = numbers.size();
  numbers.insert(numbers.end(), launch.numbers.begin(), launch.numbers.end());
  // The launch omits numbers that its formula does not need; in the fused loop each has its position.
  if (const Pointwise* facts = launch.op->pointwise())
    numbers.resize(operands + static_cast<std::size_t>(facts->param_count));
  return numbers;
}

LoopOperands elementwise_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches,
                                  FakeRun& run) {
  LoopOperands operands;
  for (const GraphArg& result : fused.results) operands.outputs.push_back(run[std::get<ValueId>(result)]);
  for (const GraphArg& arg : fused.args) operands.inputs.push_back(run[std::get<ValueId>(arg)]);
  for (const RecordedLaunch& launch : launches) {
    const std::vector<PelScalar> own = call_numbers(launch);
    operands.numbers.insert(operands.numbers.end(), own.begin(), own.end());
  }
  return operands;
}

}  // namespace pel::compiler
