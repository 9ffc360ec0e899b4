// Sums up to each element.
#include "ops/family_axis.h"

namespace pel {
namespace {

Tensor cumsum_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  return run_scan(op, self, axis, dtype);
}

}  // namespace

namespace ops {
OpDef define_cumsum() {
  return define_op<cumsum_body>(OpKind::Kernel,
                                "cumsum(Tensor self, int dim, *, DType? dtype=None) -> Tensor")
      .dtypes(kFloating | kIntegral);
}
}  // namespace ops

Tensor cumsum(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"cumsum", cumsum_body>(site, self, axis, dtype);
}

}  // namespace pel
