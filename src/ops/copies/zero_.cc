// Zero written everywhere.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

const Tensor& zero_body(const Tensor& self) { return fill_(self, 0); }

}  // namespace

namespace ops {
OpDef define_zero_() {
  return define_op<zero_body>(OpKind::Composite, "zero_(Tensor(a!) self) -> Tensor(a!)");
}
}  // namespace ops

const Tensor& zero_(const Tensor& self, Site site) { return call<"zero_", zero_body>(site, self); }
const Tensor& Tensor::zero_(Site site) const { return pel::zero_(*this, site); }

}  // namespace pel
