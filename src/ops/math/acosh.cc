// The inverse hyperbolic cosine; NaN below 1.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_acosh() {
  return unary("acosh")
      .floating()
      .formula([](Term x) { return acosh(x); })
      .reference([](auto x) { return std::acosh(x); })
      .max_ulp(2)
      .domain(1, 1000)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * rsqrt(v["self"] * v["self"] - 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY(acosh)

}  // namespace pel
