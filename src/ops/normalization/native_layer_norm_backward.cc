// The gradients of native_layer_norm: one kernel for the rows, one for weight and bias.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/norm.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward_body(const Op& op, const Tensor& grad,
                                                                   const Tensor& self, Dims normalized_shape,
                                                                   const Tensor& mean, const Tensor& rstd,
                                                                   const std::optional<Tensor>& weight) {
  const DType compute = check_floating(self);
  const AxisSet reduced = normalized_axes(self, normalized_shape);
  std::vector<TensorRef> inputs = {grad, self};
  if (weight) inputs.emplace_back(*weight);
  inputs.emplace_back(mean);
  inputs.emplace_back(rstd);
  const Tensor rows = run_rows(
      op, inputs, {compute, reduced, KeepDims::No, weight ? kNormBackwardWeight : kNormBackwardPlain})[0];
  const std::vector<Tensor> parameters =
      run_rows(op, {grad, self, mean, rstd},
               {compute, other_axes(self, reduced), KeepDims::No, kNormBackwardParameters});
  return {rows, parameters[0], parameters[1]};
}

}  // namespace

namespace ops {
OpDef define_native_layer_norm_backward() {
  return norm_backward_programs(
             rows_op<native_layer_norm_backward_body>(
                 "native_layer_norm_backward(Tensor grad, Tensor self, Dim[] normalized_shape, Tensor mean, "
                 "Tensor rstd, Tensor? weight=None) -> (Tensor, Tensor, Tensor)"))
      .vjp("grad self mean rstd weight", "grad self normalized_shape mean rstd weight",
           [](const Vjp& v) {
             const NormBackwardCall call{v["grad"], v["self"] - v["mean"], v["rstd"],
                                         v.get<std::optional<Tensor>>("weight").value_or(Tensor()),
                                         last_axes(v.get<Dims>("normalized_shape"))};
             const NormBackwardCall to = call.gradients(v.grad(0), grad_or_none(v, 1), grad_or_none(v, 2));
             return std::vector<Tensor>{to.grad, to.centred, -to.centred, to.rstd, to.weight};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 3}), s({2, 3}), std::vector<Dim>{3}, s({2, 1}), s({2, 1}, 0.5, 2)},
                           {s({2, 2, 2}), s({2, 2, 2}), std::vector<Dim>{2, 2}, s({2, 1, 1}),
                            s({2, 1, 1}, 0.5, 2), s({2, 2})}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward(const Tensor& grad, const Tensor& self,
                                                              Dims normalized_shape, const Tensor& mean,
                                                              const Tensor& rstd,
                                                              const std::optional<Tensor>& weight,
                                                              Site site) {
  return call<"native_layer_norm_backward", native_layer_norm_backward_body>(
      site, grad, self, normalized_shape, mean, rstd, weight);
}
}  // namespace internal

}  // namespace pel
