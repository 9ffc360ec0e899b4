// The elements of src, broadcast and cast, written into self.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (std::size_t i = 0; i < a.sizes().size(); ++i) {
    if (!Dim::identical(a.sizes()[i], b.sizes()[i])) return false;
  }
  return true;
}

const Tensor& copy_body(const Op& op, const Tensor& self, const Tensor& src) {
  if (same_sizes(self, src)) [[likely]] {
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
  return define_op<copy_body>(OpKind::Kernel, "copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)");
}
}  // namespace ops

const Tensor& copy_(const Tensor& self, const Tensor& src, Site site) {
  return call<"copy_", copy_body>(site, self, src);
}
const Tensor& Tensor::copy_(const Tensor& src, Site site) const { return pel::copy_(*this, src, site); }

}  // namespace pel
