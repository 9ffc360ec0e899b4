// A new axis of size 1.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor unsqueeze_body(const Tensor& self, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim() + 1));
  DimVector sizes(self.sizes()), strides(self.strides());
  strides.insert(at, at < sizes.size() ? sizes[at] * strides[at] : Dim(1));
  sizes.insert(at, 1);
  return make_view(self, sizes, strides);
}

}  // namespace

namespace ops {
OpDef define_unsqueeze() {
  return define_op<unsqueeze_body>(OpKind::Metadata, "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
      .vjp("self", "dim", [](const Vjp& v) { return squeeze(v.grad(), {v.get<std::int64_t>("dim")}); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Dim(1)}, {s({3, 1}), Dim(-1)}}; });
}
}  // namespace ops

Tensor unsqueeze(const Tensor& self, std::int64_t axis, Site site) {
  return call<"unsqueeze", unsqueeze_body>(site, self, axis);
}
Tensor Tensor::unsqueeze(std::int64_t axis, Site site) const { return pel::unsqueeze(*this, axis, site); }

}  // namespace pel
