// A copy with memory of its own. A dense layout is preserved, or made row-major; one with gaps becomes the
// dense one closest to it.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor clone_body(const Tensor& self, Layout layout) {
  Tensor result = layout == Layout::Keep ? make_like(self, self.dtype(), self.device())
                                         : make_dense(self.sizes(), self.dtype(), self.device());
  launch(op<"copy_">(), {result}, {self});
  return result;
}

}  // namespace

namespace ops {
OpDef define_clone() {
  return define_op<clone_body>(OpKind::Kernel, "clone(Tensor self, *, bool row_major=False) -> Tensor")
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}}; });
}
}  // namespace ops

Tensor clone(const Tensor& self, Layout layout, Site site) {
  return call<"clone", clone_body>(site, self, layout);
}
Tensor Tensor::clone(Layout layout, Site site) const { return pel::clone(*this, layout, site); }

}  // namespace pel
