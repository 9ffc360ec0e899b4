// A copy with memory of its own. A dense layout is kept; another becomes the dense one closest to it.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor clone_body(const Tensor& self) {
  Tensor result = make_like(self, self.dtype(), self.device());
  launch(op<"copy_">(), {result}, {self});
  return result;
}

}  // namespace

namespace ops {
OpDef define_clone() { return define_op<clone_body>(OpKind::Kernel, "clone(Tensor self) -> Tensor"); }
}  // namespace ops

Tensor clone(const Tensor& self, Site site) { return call<"clone", clone_body>(site, self); }
Tensor Tensor::clone(Site site) const { return pel::clone(*this, site); }

}  // namespace pel
