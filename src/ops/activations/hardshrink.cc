// x, but 0 within [-lambd, lambd]. NaN stays.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_hardshrink() {
  return pointwise<const Tensor&, const Scalar&>("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor")
      .computes(kFloating)
      .formula([](Term x, Term lambd) { return select((x >= -lambd) & (x <= lambd), 0, x); })
      .reference([](auto x, auto lambd) { return x >= -lambd && x <= lambd ? 0 : x; })
      .domain(-2, 2)
      .params({0.5})
      .forms(Forms::Out)
      .vjp("self", "self lambd", shrink_gradient);
}
}  // namespace ops

Tensor hardshrink(const Tensor& self, const Scalar& lambd, Site site) {
  return call<"hardshrink", pointwise_body<const Tensor&, const Scalar&>>(site, self, lambd);
}
const Tensor& hardshrink_out(const Tensor& out, const Tensor& self, const Scalar& lambd, Site site) {
  return call<"hardshrink.out", pointwise_out<const Tensor&, const Scalar&>>(site, out, self, lambd);
}

}  // namespace pel
