// native_softmax_cross_entropy of input weight^T, whose rows are computed some at a time. Further results are
// the max and 1 / sum(e^(x - max)) of each row, for the gradients.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/linalg.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/loss.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

using FourTensors = std::tuple<Tensor, Tensor, Tensor, Tensor>;

FourTensors native_linear_cross_entropy_body(const Op& op, const Tensor& input, const Tensor& weight,
                                             const Tensor& target, std::int64_t ignore_index) {
  check_linear_target(input, weight, target);
  const DType dtype = input.dtype(), values = value_type(dtype);
  const Dim rows = input.sizes()[0];
  const Tensor loss = make_dense({}, dtype, input.device()), count = make_dense({}, values, input.device());
  const Tensor largest = make_dense({rows}, values, input.device()),
               scale = make_dense({rows}, values, input.device());
  launch(op, {loss, count, largest, scale}, {input, weight, row_major(target)}, {Scalar(ignore_index)});
  return {loss, count, largest, scale};
}

// What flows to the logits from the max and 1 / sum of each row.
Tensor through_statistics(const Vjp& v, const Tensor& logits) {
  const DType values = v["result2"].dtype();
  Tensor to_largest = v.has_grad(2) ? v.grad(2).unsqueeze(1) : Tensor(), result;
  if (v.has_grad(3)) {
    const Tensor flow = (v.grad(3) * v["result3"]).unsqueeze(1);
    result = -flow * softmax(to(logits, values), 1);
    to_largest = sum_of_flows(to_largest, flow);
  } else {
    result = zeros(logits.sizes(), {values, logits.device()});
  }
  return to(scatter_add(result, 1, argmax(logits, 1, KeepDims::Yes), to_largest), logits.dtype());
}

}  // namespace

namespace ops {
OpDef define_native_linear_cross_entropy() {
  return define_op<native_linear_cross_entropy_body>(
             OpKind::Kernel,
             "native_linear_cross_entropy(Tensor input, Tensor weight, Tensor target, int ignore_index=-100) "
             "-> (Tensor, Tensor, Tensor, Tensor)")
      .dtypes(kFloating | DTypeSet{kI64, kI32})
      .vjp("input weight", "input weight target ignore_index result1 result2 result3",
           [](const Vjp& v) {
             const Tensor &input = v["input"], &weight = v["weight"];
             Tensor to_input, to_weight;
             if (v.has_grad(0)) {
               std::tie(to_input, to_weight) = internal::linear_cross_entropy_backward(
                   v.grad(0), input, weight, v["target"], v["result1"], v["result2"], v["result3"],
                   v.get<std::int64_t>("ignore_index"));
             }
             if (v.has_grad(2) || v.has_grad(3)) {
               const Tensor to_logits = through_statistics(v, linear(input, weight));
               to_input = sum_of_flows(to_input, mm(to_logits, weight));
               to_weight = sum_of_flows(to_weight, mm(to_logits.t(), input));
             }
             return std::vector<Tensor>{to_input, to_weight};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 2}), s({4, 2}), s.indices(4, {3})},
                           {s({5, 3}), s({3, 3}), s.indices(3, {5}), Dim(1)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor, Tensor> native_linear_cross_entropy(const Tensor& input,
                                                                       const Tensor& weight,
                                                                       const Tensor& target,
                                                                       std::int64_t ignore_index, Site site) {
  return call<"native_linear_cross_entropy", native_linear_cross_entropy_body>(site, input, weight, target,
                                                                               ignore_index);
}
}  // namespace internal

}  // namespace pel
