// Degrees to radians.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_deg2rad() {
  return unary("deg2rad")
      .floating()
      .formula([](Term x) { return x * (std::numbers::pi / 180); })
      .reference([](auto x) { return x * (std::numbers::pi_v<decltype(x)> / 180); })
      .max_ulp(1)
      .vjp("self", "", [](const Vjp& v) { return deg2rad(v.grad()); });
}
}  // namespace ops

PEL_DEFINE_UNARY(deg2rad)

}  // namespace pel
