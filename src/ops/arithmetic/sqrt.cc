// The square root; NaN below 0.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_sqrt() {
  return unary("sqrt")
      .floating()
      .formula([](Term x) { return sqrt(x); })
      .reference([](auto x) { return std::sqrt(x); })
      .max_ulp(0.5)
      .domain(0, 1000)
      .vjp("self", "result", [](const Vjp& v) { return v.grad() / (2 * v["result"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(sqrt)

}  // namespace pel
