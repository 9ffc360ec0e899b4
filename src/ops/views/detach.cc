// The same memory without history.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor detach_body(const Tensor& self) {
  Tensor result = make_view(self, self.sizes(), self.strides());
  result.header()->is_row_major = self.header()->is_row_major;
  result.header()->is_detached = true;
  return result;
}

}  // namespace

namespace ops {
OpDef define_detach() {
  return define_op<detach_body>(OpKind::Metadata, "detach(Tensor(a) self) -> Tensor(a)").not_differentiable();
}
}  // namespace ops

Tensor detach(const Tensor& self, Site site) { return call<"detach", detach_body>(site, self); }
Tensor Tensor::detach(Site site) const { return pel::detach(*this, site); }

}  // namespace pel
