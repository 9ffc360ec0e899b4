// Radians to degrees.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_rad2deg() {
  return unary("rad2deg")
      .floating()
      .formula([](Term x) { return x * (180 / std::numbers::pi); })
      .reference([](auto x) { return x * (180 / std::numbers::pi_v<decltype(x)>); })
      .max_ulp(1)
      .vjp("self", "", [](const Vjp& v) { return rad2deg(v.grad()); });
}
}  // namespace ops

PEL_DEFINE_UNARY(rad2deg)

}  // namespace pel
