// 1 - erf(x), exact where that is small.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_erfc() {
  return unary("erfc")
      .floating()
      .formula([](Term x) { return erfc(x); })
      .reference([](auto x) { return std::erfc(x); })
      .max_ulp(2, 3)
      .domain(-5, 10)
      .vjp("self", "self", [](const Vjp& v) {
        return v.grad() * exp(-(v["self"] * v["self"])) * (-2 * std::numbers::inv_sqrtpi);
      });
}
}  // namespace ops

PEL_DEFINE_UNARY(erfc)

}  // namespace pel
