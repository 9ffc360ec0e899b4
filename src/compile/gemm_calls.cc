#include "compile/gemm_calls.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "dispatch/gemm_result.h"
#include "dispatch/op_table.h"
#include "dispatch/pointwise.h"
#include "tensor/make.h"

namespace pel::compiler {
namespace {

bool is_matmul(const Op* called) {
  return called == &op<"mm">() || called == &op<"addmm">() || called == &op<"bmm">() ||
         called == &op<"baddbmm">();
}

// Arguments of the fused node that elementwise calls read. Values of the body, and what only matmuls read,
// are not among them.
std::vector<ValueId> loop_inputs(const GraphNode& fused) {
  std::vector<ValueId> inputs;
  for (const GraphArg& arg : fused.args) {
    const ValueId id = std::get<ValueId>(arg);
    const auto reads = [&](const GraphNode& call) { return !is_matmul(call.op) && has_value(call.args, id); };
    if (std::ranges::any_of(fused.body, reads)) inputs.push_back(id);
  }
  return inputs;
}

// The tensor as a batch of matrices, whose last axis is its own, with strides of 0 where it repeats; none if
// its rows are not at equal distances.
std::optional<Tensor> as_matrices(const Tensor& t, Dims like) {
  const std::size_t rank = t.sizes().size();
  const Dim columns = like[like.size() - 1], rows = like[like.size() - 2];
  const Dim batch = like.size() == 3 ? like[0] : Dim(1);
  Dim column_step = 0, row_step = 0, count = 1;
  if (rank > 0 && t.sizes()[rank - 1] != 1) column_step = t.strides()[rank - 1];
  if (rank > 0 && t.sizes()[rank - 1] != columns && t.sizes()[rank - 1] != 1) return std::nullopt;
  for (std::size_t axis = rank - std::min<std::size_t>(rank, 1); axis-- > 0;) {
    const Dim size = t.sizes()[axis], stride = t.strides()[axis];
    if (size == 1) continue;
    if (count == 1) {
      row_step = stride;
    } else if (stride != row_step * count) {
      return std::nullopt;
    }
    count *= size;
  }
  if (count != 1 && count != batch * rows) return std::nullopt;
  const Dim batch_step = count == 1 ? Dim(0) : row_step * rows;
  const Dim strides[] = {batch_step, row_step, column_step};
  return make_view(t, like, {strides + 3 - like.size(), like.size()});
}

}  // namespace

std::optional<GemmCall> gemm_call_of(const Graph& graph, const GraphNode& node, GraphFacts& facts) {
  if (node.is_fused()) return std::nullopt;
  if (!is_matmul(node.op)) return std::nullopt;
  const bool adds = node.op == &op<"addmm">() || node.op == &op<"baddbmm">();
  const ValueId output = std::get<ValueId>(node.results[0]);
  if (facts.of(graph, node).parts.size() != 1 || !is_floating(graph[output].dtype)) return std::nullopt;
  return GemmCall{graph[output].dtype, adds, output};
}

bool share_left_operand(const GraphNode& a, const GraphNode& b) {
  return a.op == &op<"mm">() && b.op == &op<"mm">() &&
         std::get<ValueId>(a.args[0]) == std::get<ValueId>(b.args[0]);
}

std::vector<ValueId> right_matrices(const GraphNode& node) {
  std::vector<ValueId> matrices;
  if (node.is_fused() && node.kind != NodeKind::FusedGemm) return matrices;
  const ArrayView<GraphNode> calls =
      node.is_fused() ? ArrayView<GraphNode>(node.body) : ArrayView<GraphNode>(&node, 1);
  for (const GraphNode& call : calls) {
    if (call.op == &op<"mm">()) matrices.push_back(std::get<ValueId>(call.args[1]));
    if (call.op == &op<"native_fused_linear">()) matrices.push_back(std::get<ValueId>(call.args[1]));
    if (call.op == &op<"addmm">()) matrices.push_back(std::get<ValueId>(call.args[2]));
  }
  return matrices;
}

LoopSource gemm_source(const Graph& graph, const GraphNode& fused, GraphFacts& facts) {
  const std::optional<GemmCall> gemm = gemm_call_of(graph, fused.body[0], facts);
  PEL_CHECK(gemm, InternalError, "{}: {} is not a matmul", fused.name, fused.body[0].label());
  scalar::ScalarBuilder builder;
  std::unordered_map<std::uint32_t, scalar::Term> terms;
  const DType type = value_type(gemm->dtype);
  int sums = 1;
  const scalar::Term sum = builder.input(type);
  if (gemm->adds) {
    const scalar::Term added = cast(builder.input(gemm->dtype), type);
    const scalar::Term beta = builder.param(type), alpha = builder.param(type);
    terms.emplace(gemm->output.number, gemm_result(gemm->dtype, sum, added, beta, alpha));
  } else {
    builder.param(type), builder.param(type);  // they are passed, and are 0 and 1
    terms.emplace(gemm->output.number, cast(sum, gemm->dtype));
  }
  for (std::size_t i = 1; i < fused.body.size(); ++i) {
    const std::optional<GemmCall> second = gemm_call_of(graph, fused.body[i], facts);
    if (!second) continue;
    PEL_CHECK(++sums == 2 && !gemm->adds && !second->adds, InternalError, "{}: {} has no place in the kernel",
              fused.name, fused.body[i].label());
    terms.emplace(second->output.number, cast(builder.input(type), second->dtype));
  }
  for (const ValueId id : loop_inputs(fused)) terms.emplace(id.number, builder.input(graph[id].dtype));
  for (std::size_t i = 1; i < fused.body.size(); ++i) {
    const GraphNode& inner = fused.body[i];
    if (is_matmul(inner.op)) continue;
    const std::optional<ElementwiseCall> call = facts.elementwise_call(graph, inner);
    if (!call) {  // a view
      const scalar::Term viewed = terms.at(std::get<ValueId>(inner.args[0]).number);
      terms.emplace(std::get<ValueId>(inner.results[0]).number, viewed);
      continue;
    }
    const scalar::Term computed = element_term(
        *call, graph[call->output].dtype,
        [&](const ElementwiseInput& input) { return terms.at(input.value->number); },
        [&](DType dtype) { return builder.param(dtype); });
    terms.insert_or_assign(call->output.number, computed);
  }
  std::vector<scalar::Term> results;
  for (const GraphArg& result : fused.results) results.push_back(terms.at(std::get<ValueId>(result).number));
  LoopSource source{.name = fused.name};
  source.body = builder.finish(results);
  source.gemm = GemmLoop{gemm->dtype, gemm->adds, sums};
  return source;
}

std::optional<LoopOperands> gemm_operands(const GraphNode& fused, const std::vector<RecordedLaunch>& launches,
                                          FakeRun& run) {
  const RecordedLaunch& gemm = launches[0];
  const bool adds = gemm.op == &op<"addmm">() || gemm.op == &op<"baddbmm">();
  for (const RecordedLaunch& launch : launches) {
    if (!is_matmul(launch.op)) continue;
    if (launch.kernel == nullptr || launch.kernel->is_relaxed || (launch.inputs.size() == 3) != adds)
      return std::nullopt;
  }
  const Dims like = gemm.outputs[0].sizes();
  LoopOperands operands;
  const auto add = [&](const Tensor& t, std::vector<Tensor>& to) {
    std::optional<Tensor> matrices = as_matrices(t, like);
    if (matrices) to.push_back(*std::move(matrices));
    return !to.empty() && to.back().shares_storage(t);
  };
  for (const GraphArg& result : fused.results) {
    if (!add(run[std::get<ValueId>(result)], operands.outputs)) return std::nullopt;
    const Tensor& matrices = operands.outputs.back();
    if (operands.outputs.size() > 1 && matrices.strides()[like.size() - 1] != 1) return std::nullopt;
  }
  operands.inputs = gemm.inputs;
  for (std::size_t i = 1; i < launches.size(); ++i)
    if (is_matmul(launches[i].op)) operands.inputs.push_back(launches[i].inputs[1]);
  for (const ValueId id : loop_inputs(fused))
    if (!add(run[id], operands.inputs)) return std::nullopt;
  operands.numbers = gemm.numbers;
  for (std::size_t i = 1; i < launches.size(); ++i) {
    if (is_matmul(launches[i].op)) continue;
    const std::vector<PelScalar> own = call_numbers(launches[i]);
    operands.numbers.insert(operands.numbers.end(), own.begin(), own.end());
  }
  return operands;
}

}  // namespace pel::compiler
