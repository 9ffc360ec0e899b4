// (x - mean) / sqrt(var + eps) * weight + bias over the last axes, with the mean and 1 / sqrt(var + eps).
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/norm.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_body(const Op& op, const Tensor& self,
                                                          Dims normalized_shape,
                                                          const std::optional<Tensor>& weight,
                                                          const std::optional<Tensor>& bias, double eps) {
  const std::vector<Tensor> results = run_norm(op, {self}, normalized_shape, weight, bias, eps);
  return {results[0], results[1], results[2]};
}

}  // namespace

namespace ops {
OpDef define_native_layer_norm() {
  RowsDef def = norm_program(rows_op<native_layer_norm_body>(
      "native_layer_norm(Tensor self, Dim[] normalized_shape, Tensor? weight=None, Tensor? "
      "bias=None, float eps=1e-05) -> (Tensor, Tensor, Tensor)"));
  def = norm_program(std::move(def).program("weight").inputs(2));
  return norm_program(std::move(def).program("affine").inputs(3))
      .vjp("self weight bias", "self normalized_shape weight result1 result2",
           [](const Vjp& v) {
             const Dims shape = v.get<Dims>("normalized_shape");
             const Tensor &self = v["self"], &mean = v["result1"], &rstd = v["result2"];
             Tensor to_self, to_weight, to_bias;
             if (v.has_grad(0)) {
               std::tie(to_self, to_weight, to_bias) = internal::native_layer_norm_backward(
                   v.grad(), self, shape, mean, rstd, v.get<std::optional<Tensor>>("weight"));
             }
             if (v.has_grad(1) || v.has_grad(2)) {
               to_self =
                   sum_of_flows(to_self, statistics_gradient(grad_or_none(v, 1), grad_or_none(v, 2),
                                                             self - mean, rstd, count_along(shape, {})));
             }
             return std::vector<Tensor>{to_self, to_weight, to_bias};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), std::vector<Dim>{4}},
                           {s({2, 2, 3}), std::vector<Dim>{2, 3}, s({2, 3}), s({2, 3})},
                           {s({2, 4}), std::vector<Dim>{4}, Value(), s({4}), 0.1}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& self, Dims normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, double eps,
                                                     Site site) {
  return call<"native_layer_norm", native_layer_norm_body>(site, self, normalized_shape, weight, bias, eps);
}
}  // namespace internal

}  // namespace pel
