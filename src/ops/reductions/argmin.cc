// Index of the first min along one axis, or of the flattened tensor.
#include "ops/shared/extremes.h"

namespace pel {

namespace ops {
OpDef define_argmin() {
  return extreme(
             rows_op<extreme_index_body>("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
             FoldKind::Min, ExtremeGives::Index)
      .not_differentiable();
}
}  // namespace ops

Tensor argmin(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keepdim, Site site) {
  return call<"argmin", extreme_index_body>(site, self, axis, keepdim);
}

}  // namespace pel
