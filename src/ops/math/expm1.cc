// e^x - 1, exact near 0.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_expm1() {
  return unary("expm1")
      .floating()
      .formula([](Term x) { return expm1(x); })
      .reference([](auto x) { return std::expm1(x); })
      .max_ulp(1.5)
      .domain(-20, 90)
      .vjp("self", "result", [](const Vjp& v) { return v.grad() * (v["result"] + 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY(expm1)

}  // namespace pel
