// Another dtype: the tensor itself if it has it already, a cast copy otherwise.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

Tensor to_body(const Tensor& self, DType dtype) {
  return self.dtype() == dtype ? self : to_copy(self, dtype);
}

}  // namespace

namespace ops {
OpDef define_to() {
  return define_op<to_body>(OpKind::Composite, "to(Tensor(a) self, DType dtype) -> Tensor(a)");
}
}  // namespace ops

Tensor to(const Tensor& self, DType dtype, Site site) { return call<"to", to_body>(site, self, dtype); }
Tensor Tensor::to(DType dtype, Site site) const { return pel::to(*this, dtype, site); }

}  // namespace pel
