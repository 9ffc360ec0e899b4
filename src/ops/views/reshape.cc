// A view where the strides allow it, a row-major copy where they do not.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor reshape_body(const Tensor& self, Dims size) {
  DimVector sizes(size), strides(size);
  infer_size(size, self.numel(), sizes.data());
  if (view_strides(self.sizes(), self.strides(), sizes, strides.data())) return view(self, sizes);
  return view(clone(self, Layout::RowMajor), sizes);
}

}  // namespace

namespace ops {
OpDef define_reshape() {
  return define_op<reshape_body>(OpKind::Composite, "reshape(Tensor(a) self, Dim[] shape) -> Tensor(a)");
}
}  // namespace ops

Tensor reshape(const Tensor& self, Dims shape, Site site) {
  return call<"reshape", reshape_body>(site, self, shape);
}
Tensor Tensor::reshape(Dims shape, Site site) const { return pel::reshape(*this, shape, site); }

}  // namespace pel
