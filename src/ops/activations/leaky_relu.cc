// x, below 0 negative_slope x.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_leaky_relu() {
  return pointwise<const Tensor&, const Scalar&>(
             "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")
      .computes(kFloating)
      .formula([](Term x, Term slope) { return select(x > 0, x, x * slope); })
      .reference([](auto x, auto slope) { return x > 0 ? x : x * slope; })
      .params({0.125})
      .vjp("self", "self negative_slope", [](const Vjp& v) {
        return where(gt(v["self"], 0), v.grad(), v.grad() * v.get<Scalar>("negative_slope"));
      });
}
}  // namespace ops

Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope, Site site) {
  return call<"leaky_relu", pointwise_body<const Tensor&, const Scalar&>>(site, self, negative_slope);
}
const Tensor& leaky_relu_(const Tensor& self, const Scalar& negative_slope, Site site) {
  return call<"leaky_relu_", pointwise_in_place<const Tensor&, const Scalar&>>(site, self, negative_slope);
}
const Tensor& leaky_relu_out(const Tensor& out, const Tensor& self, const Scalar& negative_slope, Site site) {
  return call<"leaky_relu.out", pointwise_out<const Tensor&, const Scalar&>>(site, out, self, negative_slope);
}

}  // namespace pel
