// The arccosine; NaN outside of [-1, 1].
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_acos() {
  return unary("acos")
      .floating()
      .formula([](Term x) { return acos(x); })
      .reference([](auto x) { return std::acos(x); })
      .max_ulp(1.5)
      .domain(-1, 1)
      .vjp("self", "self", [](const Vjp& v) { return -(v.grad() * rsqrt(1 - v["self"] * v["self"])); });
}
}  // namespace ops

PEL_DEFINE_UNARY(acos)

}  // namespace pel
