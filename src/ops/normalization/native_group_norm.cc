// Each group of channels of each sample shifted and scaled by its mean and variance, with both.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/group_norm.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kAffine };

std::tuple<Tensor, Tensor, Tensor> native_group_norm_body(const Op& op, const Tensor& self,
                                                          const std::optional<Tensor>& weight,
                                                          const std::optional<Tensor>& bias, Dim samples,
                                                          Dim channels, Dim size, std::int64_t groups,
                                                          double eps) {
  const Groups view(self, samples, channels, size, groups);
  const RowsCall call{check_floating(self), Groups::kRows, KeepDims::No, weight || bias ? kAffine : kPlain};
  std::vector<Tensor> results;
  if (call.program == kPlain) {
    results = run_rows(op, {view.of(self)}, call, {eps});
  } else {
    results = run_rows(op, {view.of(self), view.parameter(weight, 1), view.parameter(bias, 0)}, call, {eps});
  }
  return {view.back(results[0]), results[1], results[2]};
}

}  // namespace

namespace ops {
OpDef define_native_group_norm() {
  RowsDef def = norm_program(rows_op<native_group_norm_body>(
      "native_group_norm(Tensor self, Tensor? weight, Tensor? bias, Dim N, Dim C, Dim HxW, int group, float "
      "eps=1e-05) -> (Tensor, Tensor, Tensor)"));
  return norm_program(std::move(def).program("affine").inputs(3, 1))
      .vjp("self weight bias", "self weight N C HxW group result1 result2",
           [](const Vjp& v) {
             const Tensor &self = v["self"], &mean = v["result1"], &rstd = v["result2"];
             Tensor to_self, to_weight, to_bias;
             if (v.has_grad(0)) {
               std::tie(to_self, to_weight, to_bias) = internal::native_group_norm_backward(
                   v.grad(), self, mean, rstd, v.get<std::optional<Tensor>>("weight"), v.get<Dim>("N"),
                   v.get<Dim>("C"), v.get<Dim>("HxW"), v.get<std::int64_t>("group"));
             }
             if (v.has_grad(1) || v.has_grad(2)) {
               const GroupViews views(v);
               const Tensor flow = statistics_gradient(
                   views.statistic(grad_or_none(v, 1)), views.statistic(grad_or_none(v, 2)),
                   views.of(self) - views.statistic(mean), views.statistic(rstd), views.count());
               to_self = sum_of_flows(to_self, reshape(expand(flow, views.of(self).sizes()), self.sizes()));
             }
             return std::vector<Tensor>{to_self, to_weight, to_bias};
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 4, 2}), s({4}), s({4}), Dim(2), Dim(4), Dim(2), Dim(2)},
                           {s({2, 4, 1, 2}), Value(), Value(), Dim(2), Dim(4), Dim(2), Dim(1), 0.1}};
      });
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& self, const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, Dim samples,
                                                     Dim channels, Dim size, std::int64_t groups, double eps,
                                                     Site site) {
  return call<"native_group_norm", native_group_norm_body>(site, self, weight, bias, samples, channels, size,
                                                           groups, eps);
}
}  // namespace internal

}  // namespace pel
