// The order of some axes reversed. Strides are never negative, so this copies.
#include "pellucid/ops/indexing.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor flip_body(const Op& op, const Tensor& self, Axes axes) {
  std::vector<Scalar> reversed(self.sizes().size(), Scalar(0));
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
    if (self.dim() == 0) continue;
    PEL_CHECK(reversed[at].to_int() == 0, ValueError, "axis {} is named twice", axis);
    reversed[at] = Scalar(1);
  }
  Tensor result = make_like(self, self.dtype(), self.device());
  launch(op, {result}, {self}, reversed);
  return result;
}

}  // namespace

namespace ops {
OpDef define_flip() {
  return define_op<flip_body>(OpKind::Kernel, "flip(Tensor self, int[] dims) -> Tensor")
      .vjp("self", "dims", [](const Vjp& v) { return flip(v.grad(), v.get<Axes>("dims")); })
      .samples([](Sampler& s) { return SampleCalls{{s({2, 3, 2}), std::vector<Dim>{0, -1}}}; });
}
}  // namespace ops

Tensor flip(const Tensor& self, Axes axes, Site site) { return call<"flip", flip_body>(site, self, axes); }

}  // namespace pel
