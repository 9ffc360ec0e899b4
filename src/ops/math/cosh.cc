// The hyperbolic cosine.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_cosh() {
  return unary("cosh")
      .floating()
      .formula([](Term x) { return cosh(x); })
      .reference([](auto x) { return std::cosh(x); })
      .max_ulp(1.5)
      .domain(-90, 90)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * sinh(v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(cosh)

}  // namespace pel
