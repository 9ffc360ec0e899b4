// Means of windows such that the result has the sizes asked for, over three spatial axes.
#include "ops/family_pool.h"

namespace pel {
namespace {

Tensor adaptive_avg_pool3d_body(const Op& op, const Tensor& self, Dims output_size) {
  return run_adaptive_avg_pool(op, self, 3, output_size);
}

}  // namespace

namespace ops {
OpDef define_adaptive_avg_pool3d() {
  return define_op<adaptive_avg_pool3d_body>(OpKind::Kernel,
                                             "adaptive_avg_pool3d(Tensor self, Dim[] output_size) -> Tensor")
      .dtypes(kFloating);
}
}  // namespace ops

Tensor adaptive_avg_pool3d(const Tensor& self, Dims output_size, Site site) {
  return call<"adaptive_avg_pool3d", adaptive_avg_pool3d_body>(site, self, output_size);
}

}  // namespace pel
