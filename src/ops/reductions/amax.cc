// Greatest element over axes; NaN where one is.
#include "ops/shared/extremes.h"

namespace pel {

namespace ops {
OpDef define_amax() {
  return extreme(rows_op<extreme_body>("amax(Tensor self, int[] dim=[], bool keepdim=False) -> Tensor"),
                 FoldKind::Max, ExtremeGives::Value)
      .vjp("self", "self result dim keepdim", extreme_gradient)
      .samples(extreme_samples);
}
}  // namespace ops

Tensor amax(const Tensor& self, Axes axes, KeepDims keep, Site site) {
  return call<"amax", extreme_body>(site, self, axes, keep);
}

}  // namespace pel
