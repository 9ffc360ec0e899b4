// Min over axes; NaN if an element is NaN.
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

Tensor amin(const Tensor& self, Axes axes, KeepDims keepdim, Site site) {
  return call<"amin", extreme_body>(site, self, axes, keepdim);
}

}  // namespace pel
