// The same elements in the same order with other sizes, where the strides allow it.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor view_body(const Tensor& self, Dims size) {
  const DimVector sizes = infer_size(size, self.numel());
  const std::optional<DimVector> strides = view_strides(self.sizes(), self.strides(), sizes);
  PEL_CHECK(strides.has_value(), ShapeError,
            "sizes {} cannot be seen in {} with strides {} without a copy; use reshape", to_string(sizes),
            describe(self), to_string(self.strides()));
  return make_view(self, sizes, *strides);
}

}  // namespace

namespace ops {
OpDef define_view() {
  return define_op<view_body>(OpKind::Metadata, "view(Tensor(a) self, Dim[] size) -> Tensor(a)");
}
}  // namespace ops

Tensor view(const Tensor& self, Dims size, Site site) { return call<"view", view_body>(site, self, size); }
Tensor Tensor::view(Dims size, Site site) const { return pel::view(*this, size, site); }

}  // namespace pel
