// The sine; NaN for infinities.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_sin() {
  return unary("sin")
      .floating()
      .formula([](Term x) { return sin(x); })
      .reference([](auto x) { return std::sin(x); })
      .max_ulp(1)
      .domain(-100, 100)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * cos(v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(sin)

}  // namespace pel
