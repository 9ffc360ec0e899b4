// The elements of src, broadcast and cast, written into self.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

const Tensor& copy_body(const Op& op, const Tensor& self, const Tensor& src) {
  if (identical(self.sizes(), src.sizes())) [[likely]] {
    launch(op, {self}, {src});
  } else {
    const Expanded wide = expand_layout(src.sizes(), src.strides(), self.sizes());
    launch(op, {self}, {make_view(src, wide.sizes, wide.strides)});
  }
  bump_version(self);
  return self;
}

}  // namespace

namespace ops {
OpDef define_copy_() {
  return define_op<copy_body>(OpKind::Kernel, "copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)")
      .no_vjp("self")
      .vjp("src", "", [](const Vjp& v) { return v.grad(); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({4})}}; });
}
}  // namespace ops

const Tensor& copy_(const Tensor& self, const Tensor& src, Site site) {
  return call<"copy_", copy_body>(site, self, src);
}
const Tensor& Tensor::copy_(const Tensor& src, Site site) const { return pel::copy_(*this, src, site); }

}  // namespace pel
