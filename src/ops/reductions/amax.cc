// Max over axes; NaN if an element is NaN.
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

Tensor amax(const Tensor& self, Axes axes, KeepDims keepdim, Site site) {
  return call<"amax", extreme_body>(site, self, axes, keepdim);
}

}  // namespace pel
