// native_group_norm without the statistics.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "ops/shared/batch_norm.h"

namespace pel {
namespace {

Tensor group_norm_body(const Tensor& self, std::int64_t groups, const std::optional<Tensor>& weight,
                       const std::optional<Tensor>& bias, double eps) {
  check_channels(self);
  Dim size = 1;
  for (std::size_t i = 2; i < self.sizes().size(); ++i) size = size * self.sizes()[i];
  return std::get<0>(
      internal::native_group_norm(self, weight, bias, self.sizes()[0], self.sizes()[1], size, groups, eps));
}

}  // namespace

namespace ops {
OpDef define_group_norm() {
  return define_op<group_norm_body>(OpKind::Composite,
                                    "group_norm(Tensor self, int num_groups, Tensor? weight=None, Tensor? "
                                    "bias=None, float eps=1e-05) -> Tensor")
      .dtypes(kFloating);
}
}  // namespace ops

Tensor group_norm(const Tensor& self, std::int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, Site site) {
  return call<"group_norm", group_norm_body>(site, self, num_groups, weight, bias, eps);
}

}  // namespace pel
