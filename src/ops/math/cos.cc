// The cosine; NaN for infinities.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_cos() {
  return unary("cos")
      .floating()
      .formula([](Term x) { return cos(x); })
      .reference([](auto x) { return std::cos(x); })
      .max_ulp(1)
      .domain(-100, 100)
      .vjp("self", "self", [](const Vjp& v) { return -(v.grad() * sin(v["self"])); });
}
}  // namespace ops

PEL_DEFINE_UNARY(cos)

}  // namespace pel
