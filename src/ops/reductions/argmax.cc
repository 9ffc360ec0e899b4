// Index of the first max along one axis, or of the flattened tensor.
#include "ops/shared/extremes.h"

namespace pel {

namespace ops {
OpDef define_argmax() {
  return extreme(
             rows_op<extreme_index_body>("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
             FoldKind::Max, ExtremeGives::Index)
      .not_differentiable();
}
}  // namespace ops

Tensor argmax(const Tensor& self, std::optional<std::int64_t> axis, KeepDims keepdim, Site site) {
  return call<"argmax", extreme_index_body>(site, self, axis, keepdim);
}

}  // namespace pel
