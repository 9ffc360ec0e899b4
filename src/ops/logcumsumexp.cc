// log(sum e^x) up to each element.
#include "ops/family_axis.h"

namespace pel {
namespace {

Tensor logcumsumexp_body(const Op& op, const Tensor& self, std::int64_t axis) {
  return run_scan(op, self, axis, self.dtype());
}

}  // namespace

namespace ops {
OpDef define_logcumsumexp() {
  return define_op<logcumsumexp_body>(OpKind::Kernel, "logcumsumexp(Tensor self, int dim) -> Tensor")
      .dtypes(kFloating);
}
}  // namespace ops

Tensor logcumsumexp(const Tensor& self, std::int64_t axis, Site site) {
  return call<"logcumsumexp", logcumsumexp_body>(site, self, axis);
}

}  // namespace pel
