// All axes in a new order.
#include <bitset>

#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor permute_body(const Tensor& self, Axes axes) {
  PEL_CHECK(static_cast<std::int64_t>(axes.size()) == self.dim(), ShapeError, "{} axes are given for {}",
            axes.size(), describe(self));
  DimVector sizes(axes.size()), strides(axes.size());
  std::bitset<kMaxRank> seen;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(wrap_axis(axes[i], self.dim()));
    PEL_CHECK(!seen[axis], ValueError, "axis {} is given twice", axis);
    seen[axis] = true;
    sizes[i] = self.sizes()[axis];
    strides[i] = self.strides()[axis];
  }
  return make_view(self, sizes, strides);
}

}  // namespace

namespace ops {
OpDef define_permute() {
  return define_op<permute_body>(OpKind::Metadata, "permute(Tensor(a) self, int[] dims) -> Tensor(a)")
      .vjp("self", "dims",
           [](const Vjp& v) {
             const std::vector<std::int64_t> axes = v.get<Axes>("dims");
             const auto rank = static_cast<std::int64_t>(axes.size());
             std::vector<std::int64_t> back(axes.size());
             for (std::int64_t i = 0; i < rank; ++i)
               back[static_cast<std::size_t>(wrap_axis(axes[static_cast<std::size_t>(i)], rank))] = i;
             return permute(v.grad(), back);
           })
      .samples([](Sampler& s) { return SampleCalls{{s({2, 3, 4}), std::vector<Dim>{2, 0, -2}}}; });
}
}  // namespace ops

Tensor permute(const Tensor& self, Axes axes, Site site) {
  return call<"permute", permute_body>(site, self, axes);
}
Tensor Tensor::permute(Axes axes, Site site) const { return pel::permute(*this, axes, site); }

}  // namespace pel
