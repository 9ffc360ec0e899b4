// log(1 + x), exact near 0; NaN below -1.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_log1p() {
  return unary("log1p")
      .floating()
      .formula([](Term x) { return log1p(x); })
      .reference([](auto x) { return std::log1p(x); })
      .max_ulp(1.5)
      .domain(-1, 100)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / (v["self"] + 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY(log1p)

}  // namespace pel
