// 1 / sqrt(x); NaN below 0.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_rsqrt() {
  return unary("rsqrt")
      .floating()
      .formula([](Term x) { return 1 / sqrt(x); })
      .reference([](auto x) { return 1 / std::sqrt(x); })
      .max_ulp(1.5)
      .domain(0, 1000)
      .vjp("self", "result",
           [](const Vjp& v) { return v.grad() * (v["result"] * v["result"] * v["result"]) * -0.5; });
}
}  // namespace ops

PEL_DEFINE_UNARY(rsqrt)

}  // namespace pel
