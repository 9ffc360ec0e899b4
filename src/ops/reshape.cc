// A view where the strides allow it, a row-major copy where they do not.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor reshape_body(const Tensor& self, Dims size) {
  const DimVector sizes = infer_size(size, self.numel());
  if (view_strides(self.sizes(), self.strides(), sizes)) return view(self, sizes);
  const Tensor dense = empty(self.sizes(), {self.dtype(), self.device()});
  return view(copy_(dense, self), sizes);
}

}  // namespace

namespace ops {
OpDef define_reshape() {
  return define_op<reshape_body>(OpKind::Composite, "reshape(Tensor(a) self, Dim[] shape) -> Tensor(a)");
}
}  // namespace ops

Tensor reshape(const Tensor& self, Dims size, Site site) {
  return call<"reshape", reshape_body>(site, self, size);
}
Tensor Tensor::reshape(Dims size, Site site) const { return pel::reshape(*this, size, site); }

}  // namespace pel
