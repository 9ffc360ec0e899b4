// The gradients of native_group_norm: one kernel for the rows, one for weight and bias.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/group_norm.h"
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
                                    "native_group_norm_backward(Tensor grad, Tensor self, Tensor mean, "
                                    "Tensor rstd, Tensor? weight, Dim N, "
                                    "Dim C, Dim HxW, int group) -> (Tensor, Tensor, Tensor)"))
      .vjp("grad self mean rstd weight", "grad self mean rstd weight N C HxW group",
           [](const Vjp& v) {
             const GroupViews views(v);
             const Tensor& self = v["self"];
             const Tensor centred = views.of(self) - views.statistic(v["mean"]);
             const NormBackwardCall call{views.of(v["grad"]),
                                         centred,
                                         views.statistic(v["rstd"]),
                                         views.parameter(v.get<std::optional<Tensor>>("weight")),
                                         {2, 3}};
             const NormBackwardCall to =
                 call.gradients(views.of(v.grad(0)), views.parameter(grad_or_none(v, 1)),
                                views.parameter(grad_or_none(v, 2)));
             const auto of_group = [](const Tensor& t) { return sum(t, {2, 3}); };
             return std::vector<Tensor>{reshape(to.grad, self.sizes()), reshape(to.centred, self.sizes()),
                                        -of_group(to.centred), of_group(to.rstd),
                                        reshape(sum(to.weight, {0, 3}), {-1})};
           })
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({2, 4, 2}), s({2, 4, 2}), s({2, 2}), s({2, 2}, 0.5, 2), s({4}), Dim(2), Dim(4), Dim(2),
             Dim(2)},
            {s({1, 4}), s({1, 4}), s({1, 2}), s({1, 2}, 0.5, 2), Value(), Dim(1), Dim(4), Dim(1), Dim(2)}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> native_group_norm_backward(const Tensor& grad, const Tensor& self,
                                                              const Tensor& mean, const Tensor& rstd,
                                                              const std::optional<Tensor>& weight,
                                                              Dim samples, Dim channels, Dim size,
                                                              std::int64_t groups, Site site) {
  return call<"native_group_norm_backward", native_group_norm_backward_body>(
      site, grad, self, mean, rstd, weight, samples, channels, size, groups);
}
}  // namespace internal

}  // namespace pel
