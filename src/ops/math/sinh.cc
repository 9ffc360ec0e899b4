// The hyperbolic sine.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_sinh() {
  return unary("sinh")
      .floating()
      .formula([](Term x) { return sinh(x); })
      .reference([](auto x) { return std::sinh(x); })
      .max_ulp(2)
      .domain(-90, 90)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * cosh(v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(sinh)

}  // namespace pel
