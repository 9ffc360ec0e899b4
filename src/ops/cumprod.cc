// Products up to each element.
#include "ops/family_axis.h"

namespace pel {
namespace {

Tensor cumprod_body(const Op& op, const Tensor& self, std::int64_t axis, std::optional<DType> dtype) {
  return run_scan(op, self, axis, dtype);
}

}  // namespace

namespace ops {
OpDef define_cumprod() {
  return define_op<cumprod_body>(OpKind::Kernel,
                                 "cumprod(Tensor self, int dim, *, DType? dtype=None) -> Tensor")
      .dtypes(kFloating | kIntegral);
}
}  // namespace ops

Tensor cumprod(const Tensor& self, std::int64_t axis, std::optional<DType> dtype, Site site) {
  return call<"cumprod", cumprod_body>(site, self, axis, dtype);
}

}  // namespace pel
