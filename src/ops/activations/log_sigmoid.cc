// log(1 / (1 + e^-x)), by an exponential that never overflows.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_log_sigmoid() {
  return unary("log_sigmoid")
      .computes(kFloating)
      .formula([](Term x) { return min(0, x) - log1p(exp(-abs(x))); })
      .reference([](auto x) { return x > 0 ? 0 - std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x)); })
      .max_ulp(2)
      .domain(-110, 110)
      .forms(Forms::Out)
      .vjp("self", "result", [](const Vjp& v) { return -(v.grad() * expm1(v["result"])); });
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(log_sigmoid)
PEL_DEFINE_UNARY_OUT(log_sigmoid)

}  // namespace pel
