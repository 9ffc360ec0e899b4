// Row-major: the tensor itself if it already is, a copy otherwise.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/layout.h"

namespace pel {
namespace {

Tensor contiguous_body(const Tensor& self) {
  const bool is_row_major = self.is_contiguous() || is_row_major_if_asked(self.sizes(), self.strides());
  return is_row_major ? self : clone(self, Layout::RowMajor);
}

}  // namespace

namespace ops {
OpDef define_contiguous() {
  return define_op<contiguous_body>(OpKind::Composite, "contiguous(Tensor(a) self) -> Tensor(a)");
}
}  // namespace ops

Tensor contiguous(const Tensor& self, Site site) { return call<"contiguous", contiguous_body>(site, self); }
Tensor Tensor::contiguous(Site site) const { return pel::contiguous(*this, site); }

}  // namespace pel
