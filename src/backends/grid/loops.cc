#include "backends/grid/loops.h"

#include <cstdlib>

#include "backends/grid/kernels.h"
#include "codegen/c_like/expr_text.h"

namespace pel::grid {

using scalar::ScalarExpr;
using scalar::ScalarNode;
using scalar::ScalarOp;

namespace {

constexpr int kMaxOperands = 16;

bool divides_integers(const ScalarExpr& body) {
  for (const ScalarNode& node : body.nodes)
    if ((node.op == ScalarOp::Div || node.op == ScalarOp::Rem) && !is_floating(node.type)) return true;
  return false;
}

// Axes of the first operand; the others broadcast to it. Sorted by the steps of the first, so that permuted
// dense operands are dense.
GridAxes<kMaxOperands> axes_of(const Operand* operands, int count) {
  struct Axis {
    std::int64_t size;
    std::int64_t step[kMaxOperands];
  };
  SmallVector<Axis, 8> axes;
  const Operand& out = operands[0];
  for (int i = out.rank; i-- > 0;) {
    if (out.sizes[i] == 1) continue;
    Axis axis{out.sizes[i], {}};
    for (int k = 0; k < count; ++k) {
      const Operand& operand = operands[k];
      const int own = i - (out.rank - operand.rank);
      if (own >= 0 && operand.sizes[own] != 1) axis.step[k] = operand.strides[own];
    }
    axes.push_back(axis);
  }
  const auto is_inside = [&](const Axis& a, const Axis& b) {
    for (int k = 0; k < count; ++k)
      if (a.step[k] != b.step[k]) return std::abs(a.step[k]) < std::abs(b.step[k]);
    return false;
  };
  for (std::size_t i = 1; i < axes.size(); ++i)  // few, and mostly in order
    for (std::size_t j = i; j > 0 && is_inside(axes[j], axes[j - 1]); --j) std::swap(axes[j], axes[j - 1]);
  GridAxes<kMaxOperands> joined;
  for (const Axis& axis : axes) joined.add(axis.size, axis.step, count);
  return joined;
}

}  // namespace

Loop::Loop(std::string of, ScalarExpr expression)
    : name("pel_" + std::move(of)),
      body(std::move(expression)),
      divides(divides_integers(body)),
      has_vector_form(codegen::has_vector_form(body)) {
  shown = name;
}
Loop Loop::fused(std::string of, ScalarExpr expression) {
  Loop loop("fused", std::move(expression));
  loop.shown = std::move(of);
  loop.functions.are_shared = true;
  return loop;
}

int text_axes(int operands, int rank) {
  constexpr int kMaxWithAllAxes = 6;
  if (operands <= kMaxWithAllAxes) return kMaxGridAxes;
  return rank <= 2 ? 2 : rank <= 4 ? 4 : kMaxGridAxes;
}

void run_loop(Loop& loop, const Operand* operands, ArrayView<PelScalar> numbers) {
  const int outputs = static_cast<int>(loop.body.results.size()),
            inputs = static_cast<int>(loop.body.inputs.size());
  Operand in_memory[kMaxOperands];
  int count = 0;
  // Five bits for each operand: its dtype in memory, or that it is a number. A fused loop has one bit: there
  // are more operands, and their dtypes are known.
  constexpr std::uint64_t kIsNumber = 31;
  const bool is_fused = loop.functions.are_shared;
  std::uint64_t key = 1;
  for (int k = 0; k < outputs + inputs; ++k) {
    const bool is_value = k >= outputs && is_number(operands[k]);
    key = is_fused ? key << 1 | (is_value ? 1 : 0) : key << 5 | (is_value ? kIsNumber : operands[k].dtype);
    if (!is_value) in_memory[count++] = operands[k];
  }
  const GridAxes<kMaxOperands> axes = axes_of(in_memory, count);
  bool is_dense = axes.rank <= 1;
  for (int k = 0; is_dense && k < count && axes.rank == 1; ++k)
    is_dense = axes.step[k][0] == 1 || (k >= outputs && axes.step[k][0] == 0);
  const AsyncDevice& device = *launch_target().device;
  const int lanes = is_dense && loop.has_vector_form && device.facts().is_cpu ? codegen::kVectorLanes : 1;
  const int max_axes = text_axes(count, axes.rank);
  key = (key << 2 | (is_dense ? 2 : 0) | (lanes > 1 ? 1 : 0)) << 4 | static_cast<std::uint64_t>(max_axes);
  const auto text_of = [&] {
    codegen::PointwiseText text{loop.name, &loop.body, {}, {}, is_dense, lanes, max_axes};
    for (int k = 0; k < outputs; ++k) text.outputs.push_back(dtype_of(operands[k]));
    for (int k = outputs; k < outputs + inputs; ++k) {
      const bool is_value = is_number(operands[k]);
      text.inputs.push_back(is_value ? std::nullopt : std::optional(dtype_of(operands[k])));
    }
    return codegen::pointwise_text(dialect(), text);
  };
  const FunctionHandle function = built(loop.functions, key, loop.name, text_of, loop.shown);
  const std::int64_t elements = axes.count();
  GridCall call;
  for (int k = 0; k < count; ++k) call.address(in_memory[k].data);
  call.number(elements);
  if (is_dense) {
    for (int k = 0; k < count; ++k) call.number(axes.rank == 0 ? 0 : axes.step[k][0]);
  } else {
    call.number(axes.rank);
    axes.add_sizes(call, max_axes);
    for (int k = 0; k < count; ++k) axes.add_steps(call, k, max_axes);
  }
  std::size_t values = 0;
  for (int k = outputs; k < outputs + inputs; ++k) {
    if (!is_number(operands[k])) continue;
    const DType wanted = loop.body.inputs[static_cast<std::size_t>(k - outputs)];
    call.number(element_bits(operands[k].data, dtype_of(operands[k]), wanted));
    ++values;
  }
  // A launch omits numbers that its formula does not read.
  for (std::size_t i = 0; i < loop.body.params.size(); ++i, ++values)
    call.number(i < numbers.size() ? number_bits(numbers[i], loop.body.params[i]) : 0);
  if (values == 0) call.number(0);  // the array has one element at least
  const std::int64_t items = (elements + lanes - 1) / lanes;
  call.launch(function, items, lanes > 1 ? kVectorItems : kItems, loop.divides);
}

Support supports_rank(const KernelArgs& args) {
  for (int k = 0; k < args.output_count + args.input_count; ++k)
    if (args.operands[k].rank > kMaxGridAxes) return Support::no("an operand has more than 8 axes");
  return Support::yes();
}

Support supports_memory(const KernelArgs& args) {
  for (int k = 0; k < args.output_count + args.input_count; ++k)
    if (args.operands[k].data != nullptr && is_number(args.operands[k]))
      return Support::no("an operand is a number on the host");
  return supports_rank(args);
}

}  // namespace pel::grid
