// Axes of size 1 removed: all of them, or those named.
#include <bitset>

#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor squeeze_body(const Tensor& self, std::optional<Axes> axes) {
  std::bitset<kMaxRank> named;
  if (!axes) named.set();
  for (std::int64_t axis : axes.value_or(Axes())) {
    const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
    PEL_CHECK(!named[at], ValueError, "axis {} is given twice", at);
    named[at] = true;
  }
  DimVector sizes, strides;
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    if (named[i] && self.sizes()[i] == 1) continue;
    sizes.push_back(self.sizes()[i]);
    strides.push_back(self.strides()[i]);
  }
  return make_view(self, sizes, strides);
}

}  // namespace

namespace ops {
OpDef define_squeeze() {
  return define_op<squeeze_body>(OpKind::Metadata, "squeeze(Tensor(a) self, int[]? dim=None) -> Tensor(a)")
      .vjp("self", "", [](const Vjp& v) { return reshape(v.grad(), v.sizes("self")); })
      .samples(
          [](Sampler& s) { return SampleCalls{{s({1, 3, 1})}, {s({1, 3, 1}), std::vector<Dim>{-1, 1}}}; });
}
}  // namespace ops

Tensor squeeze(const Tensor& self, Site site) {
  return call<"squeeze", squeeze_body>(site, self, std::nullopt);
}
Tensor squeeze(const Tensor& self, Axes axes, Site site) {
  return call<"squeeze", squeeze_body>(site, self, axes);
}
Tensor Tensor::squeeze(Site site) const { return pel::squeeze(*this, site); }
Tensor Tensor::squeeze(Axes axes, Site site) const { return pel::squeeze(*this, axes, site); }

}  // namespace pel
