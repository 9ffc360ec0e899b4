// Axes of size 1 repeated by stride 0.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor expand_body(const Tensor& self, Dims size) {
  const Expanded wide = expand_layout(self.sizes(), self.strides(), size);
  return make_view(self, wide.sizes, wide.strides);
}

}  // namespace

namespace ops {
OpDef define_expand() {
  return define_op<expand_body>(OpKind::Metadata, "expand(Tensor(a) self, Dim[] size) -> Tensor(a)")
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })  // summed to self's sizes, as any gradient
      .samples([](Sampler& s) { return SampleCalls{{s({3, 1}), std::vector<Dim>{2, 3, 4}}}; });
}
}  // namespace ops

Tensor expand(const Tensor& self, Dims size, Site site) {
  return call<"expand", expand_body>(site, self, size);
}
Tensor Tensor::expand(Dims size, Site site) const { return pel::expand(*this, size, site); }

}  // namespace pel
