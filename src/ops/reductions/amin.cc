// Least element over axes; NaN where one is.
#include "ops/shared/extremes.h"

namespace pel {

namespace ops {
OpDef define_amin() {
  return extreme(rows_op<extreme_body>("amin(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor"),
                 FoldKind::Min, ExtremeGives::Value)
      .vjp("self", "self result dim keepdim", extreme_gradient)
      .samples(extreme_samples);
}
}  // namespace ops

Tensor amin(const Tensor& self, Axes axes, KeepDims keep, Site site) {
  return call<"amin", extreme_body>(site, self, axes, keep);
}

}  // namespace pel
