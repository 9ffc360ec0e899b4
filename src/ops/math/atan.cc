// The arctangent.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_atan() {
  return unary("atan")
      .floating()
      .formula([](Term x) { return atan(x); })
      .reference([](auto x) { return std::atan(x); })
      .max_ulp(1.5)
      .domain(-20, 20)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / (v["self"] * v["self"] + 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY(atan)

}  // namespace pel
