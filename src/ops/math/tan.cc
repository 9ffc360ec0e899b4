// The tangent; NaN for infinities.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_tan() {
  return unary("tan")
      .floating()
      .formula([](Term x) { return tan(x); })
      .reference([](auto x) { return std::tan(x); })
      .max_ulp(1.5)
      .domain(-100, 100)
      .vjp("self", "result", [](const Vjp& v) { return v.grad() * (v["result"] * v["result"] + 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY(tan)

}  // namespace pel
