// Each channel by its running statistics: a scale for each, then one kernel.
#include "pellucid/ops.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"
#include "pellucid/ops/pointwise.h"

#include "ops/shared/batch_norm.h"

namespace pel {
namespace {

std::tuple<Tensor, Tensor, Tensor> no_training_body(const Tensor& self, const std::optional<Tensor>& weight,
                                                    const std::optional<Tensor>& bias,
                                                    const Tensor& running_mean, const Tensor& running_var,
                                                    double, double eps) {
  const DType type = value_type(check_floating(self));
  const Tensor rstd = rsqrt(add(to(running_var, type), eps));
  const Tensor scale = weight ? mul(rstd, to(*weight, type)) : rstd;
  const Tensor none = empty({0}, {type, self.device()});
  return {internal::batch_norm_apply(self, running_mean, scale, bias), none, none.clone()};
}

}  // namespace

namespace ops {
OpDef define__native_batch_norm_legit_no_training() {
  return define_op<no_training_body>(
             OpKind::Composite,
             "_native_batch_norm_legit_no_training(Tensor self, Tensor? weight, Tensor? bias, Tensor "
             "running_mean, "
             "Tensor running_var, float momentum=0.1, float eps=1e-05) -> (Tensor, Tensor, Tensor)")
      .dtypes(kFloating);
}
}  // namespace ops

namespace internal {
std::tuple<Tensor, Tensor, Tensor> _native_batch_norm_legit_no_training(
    const Tensor& self, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const Tensor& running_mean, const Tensor& running_var, double momentum, double eps, Site site) {
  return call<"_native_batch_norm_legit_no_training", no_training_body>(
      site, self, weight, bias, running_mean, running_var, momentum, eps);
}
}  // namespace internal

}  // namespace pel
