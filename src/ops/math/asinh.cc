// The inverse hyperbolic sine.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_asinh() {
  return unary("asinh")
      .floating()
      .formula([](Term x) { return asinh(x); })
      .reference([](auto x) { return std::asinh(x); })
      .max_ulp(2)
      .domain(-1000, 1000)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * rsqrt(v["self"] * v["self"] + 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY(asinh)

}  // namespace pel
