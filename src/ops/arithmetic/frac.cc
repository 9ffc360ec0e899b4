// The fraction of x, with its sign; NaN for infinities.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_frac() {
  return unary("frac")
      .computes(kFloating)
      .formula([](Term x) { return x - trunc(x); })
      .reference([](auto x) { return x - std::trunc(x); })
      .max_ulp(0.5)
      .vjp("self", "", [](const Vjp& v) { return v.grad(); });
}
}  // namespace ops

PEL_DEFINE_UNARY(frac)

}  // namespace pel
