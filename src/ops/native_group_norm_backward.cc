// What flows back through native_group_norm: one kernel for the rows, one for weight and bias.
#include "pellucid/normalization.h"

#include "ops/family_group_norm.h"
#include "tensor/make.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward_body(
    const Op& op, const Tensor& grad, const Tensor& self, const Tensor& mean, const Tensor& rstd,
    const std::optional<Tensor>& weight, Dim samples, Dim channels, Dim size, std::int64_t groups) {
  const Groups view(self, samples, channels, size, groups);
  const DType compute = check_floating(self);
  const Tensor grads = view.of(grad), selves = view.of(self);
  const Tensor means = view.statistic(mean), rstds = view.statistic(rstd);
  const Tensor weights = view.parameter(weight, 1);
  std::vector<TensorRef> inputs = {grads, selves};
  if (weight) inputs.emplace_back(weights);
  inputs.emplace_back(means);
  inputs.emplace_back(rstds);
  const Tensor rows =
      run_rows(op, inputs,
               {compute, Groups::kRows, KeepDims::No, weight ? kNormBackwardWeight : kNormBackwardPlain})[0];
  const std::vector<Tensor> parameters = run_rows(
      op, {grads, selves, means, rstds}, {compute, Groups::kChannels, KeepDims::No, kNormBackwardParameters});
  const auto flat = [&](const Tensor& t) { return make_view(t, {channels}, {1}); };
  return {view.back(rows), flat(parameters[0]), flat(parameters[1])};
}

}  // namespace

namespace ops {
OpDef define_native_group_norm_backward() {
  return norm_backward_programs(rows_op<native_group_norm_backward_body>(
      "native_group_norm_backward(Tensor grad, Tensor self, Tensor mean, Tensor rstd, Tensor? weight, Dim N, "
      "Dim C, Dim HxW, int group) -> (Tensor, Tensor, Tensor)"));
}
}  // namespace ops

std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& grad, const Tensor& self,
                                                              const Tensor& mean, const Tensor& rstd,
                                                              const std::optional<Tensor>& weight,
                                                              Dim samples, Dim channels, Dim size,
                                                              std::int64_t groups, Site site) {
  return call<"native_group_norm_backward", native_group_norm_backward_body>(
      site, grad, self, mean, rstd, weight, samples, channels, size, groups);
}

}  // namespace pel
