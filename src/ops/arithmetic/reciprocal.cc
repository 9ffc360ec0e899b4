// 1 / x.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_reciprocal() {
  return unary("reciprocal")
      .floating()
      .formula([](Term x) { return 1 / x; })
      .reference([](auto x) { return 1 / x; })
      .max_ulp(0.5)
      .vjp("self", "result", [](const Vjp& v) { return -(v.grad() * (v["result"] * v["result"])); });
}
}  // namespace ops

PEL_DEFINE_UNARY(reciprocal)

}  // namespace pel
