// The inverse hyperbolic tangent; NaN outside of [-1, 1].
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_atanh() {
  return unary("atanh")
      .floating()
      .formula([](Term x) { return atanh(x); })
      .reference([](auto x) { return std::atanh(x); })
      .max_ulp(2)
      .domain(-1, 1)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / (1 - v["self"] * v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(atanh)

}  // namespace pel
