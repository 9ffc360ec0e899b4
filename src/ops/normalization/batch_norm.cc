// _native_batch_norm_legit without the statistics.
#include "ops/shared/batch_norm.h"

#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

namespace pel {
namespace {

Tensor batch_norm_body(const Tensor& self, const std::optional<Tensor>& weight,
                       const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                       const std::optional<Tensor>& running_var, Training training, double momentum,
                       double eps) {
  return std::get<0>(internal::_native_batch_norm_legit(self, weight, bias, running_mean, running_var,
                                                        training, momentum, eps));
}

}  // namespace

namespace ops {
OpDef define_batch_norm() {
  return define_op<batch_norm_body>(
             OpKind::Composite,
             "batch_norm(Tensor self, Tensor? weight, Tensor? bias, Tensor(a!)? running_mean, Tensor(b!)? "
             "running_var, bool training, float momentum=0.1, float eps=1e-05) -> Tensor")
      .dtypes(kFloating)
      .samples([](Sampler& s) {
        return SampleCalls{{s({2, 2, 3}), s({2}), s({2}), Value(), Value(), true},
                           {s({2, 2, 3}), s({2}), s({2}), s({2}), s({2}, 0.5, 2), false}};
      });
}
}  // namespace ops

Tensor batch_norm(const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                  Training training, double momentum, double eps, Site site) {
  return call<"batch_norm", batch_norm_body>(site, self, weight, bias, running_mean, running_var, training,
                                             momentum, eps);
}

}  // namespace pel
