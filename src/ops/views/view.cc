// The same elements in the same order with other sizes, where the strides allow it.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor view_body(const Tensor& self, Dims size) {
  Tensor result = new_view(self, size.size());
  detail::TensorHeader* header = result.header();
  infer_size(size, self.numel(), header->sizes());
  if (self.header()->is_row_major) [[likely]] {
    fill_row_major_strides(header->strides(), result.sizes());
    header->is_row_major = true;
    return result;
  }
  PEL_CHECK(view_strides(self.sizes(), self.strides(), result.sizes(), header->strides()), ShapeError,
            "sizes {} cannot be seen in {} with strides {} without a copy; use reshape",
            to_string(result.sizes()), describe(self), to_string(self.strides()));
  return result;
}

}  // namespace

namespace ops {
OpDef define_view() {
  return define_op<view_body>(OpKind::Metadata, "view(Tensor(a) self, Dim[] size) -> Tensor(a)")
      .vjp("self", "", [](const Vjp& v) { return reshape(v.grad(), v.sizes("self")); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), std::vector<Dim>{3, 1, -1}}}; });
}
}  // namespace ops

Tensor view(const Tensor& self, Dims size, Site site) { return call<"view", view_body>(site, self, size); }
Tensor Tensor::view(Dims size, Site site) const { return pel::view(*this, size, site); }

}  // namespace pel
