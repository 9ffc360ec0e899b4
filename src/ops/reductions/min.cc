// Min along an axis, and its first index.
#include "ops/shared/extremes.h"

namespace pel {

namespace ops {
OpDef define_min() {
  return extreme(rows_op<extreme_and_index_body>(
                     "min(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)"),
                 FoldKind::Min, ExtremeGives::ValueAndIndex)
      .vjp("self", "result1 dim keepdim", picked_gradient)
      .samples(indexed_extreme_samples);
}
}  // namespace ops

std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t axis, KeepDims keepdim, Site site) {
  return call<"min", extreme_and_index_body>(site, self, axis, keepdim);
}

}  // namespace pel
