#include "codegen/loop_ir.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace pel::codegen {

using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;

namespace {

std::int64_t width_bytes(DType storage) {
  return std::max<std::int64_t>(size_bytes(storage), storage == kF16 || storage == kBF16 ? 4 : 1);
}

// Weighs operations: most become about one instruction per vector, some become many.
double weight(const ScalarExpr& expr, const ScalarNode& node) {
  switch (node.op) {
    case ScalarOp::Input:
    case ScalarOp::Param:
    case ScalarOp::Constant:
    case ScalarOp::Bitcast:
      return 0;
    case ScalarOp::Div:
    case ScalarOp::Rem:
      return is_floating(node.type) && node.op == ScalarOp::Div ? 8 : 40;
    case ScalarOp::Sqrt:
      return 10;
    case ScalarOp::Lookup:
      return 16;
    case ScalarOp::Cast:
      return node.type == kBF16                                                 ? 6
             : expr.nodes[static_cast<std::size_t>(node.args[0])].type == kBF16 ? 2
                                                                                : 3;
    default:
      return node.type == kF64 || node.type == kI64 ? 2 : 1;
  }
}
double body_weight(const ScalarExpr& expr) {
  double sum = 0;
  for (const ScalarNode& node : expr.nodes) sum += weight(expr, node);
  return sum;
}

// Returns whether an operation has no vector instruction: fmod, and division of i64.
bool runs_by_lanes(const ScalarExpr& expr) {
  return std::any_of(expr.nodes.begin(), expr.nodes.end(), [](const ScalarNode& node) {
    return (node.op == ScalarOp::Rem && is_floating(node.type)) ||
           ((node.op == ScalarOp::Div || node.op == ScalarOp::Rem) && node.type == kI64);
  });
}

std::int64_t widest_operand(const ScalarExpr& expr) {
  std::int64_t widest = 1;
  for (const DType input : expr.inputs) widest = std::max(widest, width_bytes(input));
  for (const std::int32_t result : expr.results)
    widest = std::max(widest, width_bytes(expr.nodes[static_cast<std::size_t>(result)].type));
  return widest;
}

bool is_all_bf16(const ScalarExpr& expr) {
  return std::ranges::all_of(expr.inputs, [](DType input) { return input == kBF16; }) &&
         std::ranges::all_of(expr.results, [&](std::int32_t result) {
           return expr.nodes[static_cast<std::size_t>(result)].type == kBF16;
         });
}

std::string indented(const std::string& text) {
  std::string result = "    ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "    ";
  }
  result.resize(result.size() - 4);
  return result;
}

}  // namespace

LoopKernel lower_pointwise(std::string name, ScalarExpr body, Isa isa) {
  LoopKernel kernel;
  kernel.name = std::move(name);
  const int vector = vector_bytes(isa) / static_cast<int>(widest_operand(body));
  // A short body is unrolled, so that loop overhead does not dominate it. Operations that run lane by lane
  // are not unrolled.
  const double cost = body_weight(body);
  int unroll = runs_by_lanes(body) ? 1 : cost <= 6 ? 4 : cost <= 14 ? 2 : 1;
  // Two vectors take the even and the odd elements of bf16. Without 32 registers a long body has none left.
  if (unroll == 1 && facts(isa).vectors >= 32 && is_all_bf16(body)) unroll = 2;
  kernel.lanes = std::min(vector * unroll, 64);
  kernel.body = std::move(body);
  verify(kernel);
  return kernel;
}

LoopKernel lower_fold(std::string name, ScalarExpr body, Fold fold) {
  LoopKernel kernel;
  kernel.name = std::move(name);
  kernel.lanes = Fold::kLanes;
  kernel.body = std::move(body);
  kernel.fold = std::move(fold);
  verify(kernel);
  return kernel;
}

void verify(const LoopKernel& kernel) {
  scalar::verify(kernel.body);
  PEL_ASSERT(!kernel.name.empty(), "a kernel must have a name");
  PEL_ASSERT(
      kernel.lanes >= 4 && kernel.lanes <= 64 && std::has_single_bit(static_cast<unsigned>(kernel.lanes)),
      "lanes must be a power of two that fits a mask register");
  PEL_ASSERT(!kernel.body.results.empty(), "a kernel must have an output");
  if (!kernel.fold) return;
  const ScalarExpr& combine = kernel.fold->combine;
  scalar::verify(combine);
  PEL_ASSERT(combine.results.size() == 1, "a reduction must combine one value");
  const DType type = kernel.body.nodes[static_cast<std::size_t>(kernel.body.results[0])].type;
  PEL_ASSERT(combine.inputs == (std::vector<DType>{type, type}),
             "combine must take two values of the body's type");
  PEL_ASSERT(combine.nodes[static_cast<std::size_t>(combine.results[0])].type == type,
             "combine must return a value of the body's type");
  PEL_ASSERT(kernel.lanes == Fold::kLanes, "a reduction must have Fold::kLanes lanes");
}

std::string to_string(const LoopKernel& kernel) {
  const ScalarExpr& body = kernel.body;
  std::string text = fmt::format("kernel {}(n", kernel.name);
  for (std::size_t i = 0; i < body.results.size(); ++i)
    text += fmt::format(", out{}: {}", i, name(body.nodes[static_cast<std::size_t>(body.results[i])].type));
  for (std::size_t i = 0; i < body.inputs.size(); ++i)
    text += fmt::format(", in{}: {}", i, name(body.inputs[i]));
  for (std::size_t i = 0; i < body.params.size(); ++i)
    text += fmt::format(", param{}: {}", i, name(body.params[i]));
  text += fmt::format(")\n  for i in 0..n by {} lanes\n{}", kernel.lanes, indented(scalar::to_string(body)));
  if (kernel.fold)
    text += fmt::format("  fold {} lanes, halves pairwise\n{}", Fold::kLanes,
                        indented(scalar::to_string(kernel.fold->combine)));
  return text;
}

std::string content(const LoopKernel& kernel) {
  std::string text = scalar::content(kernel.body);
  if (kernel.fold) text += scalar::content(kernel.fold->combine);
  return text + fmt::format("{} {} {} {} {} {}", kernel.lanes, kernel.fold.has_value(),
                            kernel.fold ? kernel.fold->initial_bits : 0, kernel.has_runs, kernel.repeated,
                            kernel.dense);
}

double cost_per_element(const LoopKernel& kernel, Isa isa) {
  const double vectors = static_cast<double>(widest_operand(kernel.body)) / vector_bytes(isa);
  const auto operands = static_cast<double>(kernel.body.inputs.size() + kernel.body.results.size());
  return (body_weight(kernel.body) / 2 + 2 * operands) * vectors;
}

}  // namespace pel::codegen
