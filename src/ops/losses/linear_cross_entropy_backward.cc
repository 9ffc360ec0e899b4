// The gradients of linear_cross_entropy: with G = grad / count (e^(x - largest) scale - 1 at the target) of
// the logits x = input weight^T, which are computed again in blocks, these are G weight and G^T input.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/linalg.h"

#include "ops/shared/loss.h"
#include "ops/shared/operands.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor> linear_cross_entropy_backward_body(const Op& op, const Tensor& grad,
                                                              const Tensor& input, const Tensor& weight,
                                                              const Tensor& target, const Tensor& count,
                                                              const Tensor& largest, const Tensor& scale,
                                                              std::int64_t ignore_index) {
  check_linear_target(input, weight, target);
  const DType values = value_type(input.dtype());
  check_saved(grad, {}, input.dtype());
  check_saved(count, {}, values);
  for (const Tensor* each : {&largest, &scale}) check_saved(*each, {input.sizes()[0]}, values);
  const Tensor to_input = make_dense(input.sizes(), input.dtype(), input.device());
  const Tensor to_weight = make_dense(weight.sizes(), weight.dtype(), weight.device());
  launch(op, {to_input, to_weight},
         {grad, input, weight, row_major(target), count, row_major(largest), row_major(scale)},
         {Scalar(ignore_index)});
  return {to_input, to_weight};
}

// The gradients of grad, input, weight, count, largest and scale, by ops.
std::vector<Tensor> linear_cross_entropy_second(const Vjp& v) {
  const Tensor &input = v["input"], &weight = v["weight"], &count = v["count"];
  const DType dtype = weight.dtype(), values = count.dtype();
  const Tensor scale = v["scale"].unsqueeze(1), largest = v["largest"].unsqueeze(1),
               target = v["target"].unsqueeze(1);
  const Tensor ignored = eq(target, v.get<std::int64_t>("ignore_index")), index = where(ignored, 0, target);
  const Tensor power = exp(to(linear(input, weight), values) - largest), probability = power * scale;
  const Tensor each = to(v["grad"], values) / count,
               rows = masked_fill(expand(each, ignored.sizes()), ignored, 0);
  const Tensor gradient = to(scatter_add(rows * probability, 1, index, -rows), dtype);
  Tensor to_gradient, to_input, to_weight;
  if (v.has_grad(0)) {
    to_gradient = mm(v.grad(0), weight.t());
    to_weight = mm(gradient.t(), v.grad(0));
  }
  if (v.has_grad(1)) {
    to_gradient = sum_of_flows(to_gradient, mm(input, v.grad(1).t()));
    to_input = mm(gradient, v.grad(1));
  }
  to_gradient = to(to_gradient, values);
  const Tensor to_rows = masked_fill(
      sum(to_gradient * probability, {1}, KeepDims::Yes) - gather(to_gradient, 1, index), ignored, 0);
  const Tensor to_each = sum(to_rows), to_probability = to_gradient * rows,
               to_exponent = to_probability * probability, to_logits = to(to_exponent, dtype);
  return {to_each / count,
          sum_of_flows(to_input, mm(to_logits, weight)),
          sum_of_flows(to_weight, mm(to_logits.t(), input)),
          -to_each * each / count,
          -sum(to_exponent, {1}),
          sum(to_probability * power, {1})};
}

}  // namespace

namespace ops {
OpDef define_linear_cross_entropy_backward() {
  return define_op<linear_cross_entropy_backward_body>(
             OpKind::Kernel,
             "linear_cross_entropy_backward(Tensor grad, Tensor input, Tensor weight, Tensor target, Tensor "
             "count, Tensor largest, Tensor scale, int ignore_index=-100) -> (Tensor, Tensor)")
      .dtypes(kFloating | DTypeSet{kI64, kI32})
      .vjp("grad input weight count largest scale",
           "grad input weight target count largest scale ignore_index", linear_cross_entropy_second)
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({}), s({3, 2}), s({4, 2}), s.indices(4, {3}), s({}, 2, 4), s({3}), s({3}, 0.5, 2)},
            {s({}), s({5, 3}), s({3, 3}), s.indices(3, {5}), s({}, 2, 4), s({5}), s({5}, 0.5, 2), Dim(1)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor> linear_cross_entropy_backward(const Tensor& grad, const Tensor& input,
                                                         const Tensor& weight, const Tensor& target,
                                                         const Tensor& count, const Tensor& largest,
                                                         const Tensor& scale, std::int64_t ignore_index,
                                                         Site site) {
  return call<"linear_cross_entropy_backward", linear_cross_entropy_backward_body>(
      site, grad, input, weight, target, count, largest, scale, ignore_index);
}
}  // namespace internal

}  // namespace pel
