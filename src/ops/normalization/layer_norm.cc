// native_layer_norm without the means.
#include "pellucid/ops/internal.h"
#include "pellucid/ops/normalization.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

Tensor layer_norm_body(const Tensor& self, Dims normalized_shape, const std::optional<Tensor>& weight,
                       const std::optional<Tensor>& bias, double eps) {
  return std::get<0>(internal::native_layer_norm(self, normalized_shape, weight, bias, eps));
}

}  // namespace

namespace ops {
OpDef define_layer_norm() {
  return define_op<layer_norm_body>(OpKind::Composite,
                                    "layer_norm(Tensor self, Dim[] normalized_shape, Tensor? weight=None, "
                                    "Tensor? bias=None, float eps=1e-05) -> Tensor");
}
}  // namespace ops

Tensor layer_norm(const Tensor& self, Dims normalized_shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, Site site) {
  return call<"layer_norm", layer_norm_body>(site, self, normalized_shape, weight, bias, eps);
}

}  // namespace pel
