// The natural logarithm; NaN below 0.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_log() {
  return unary("log")
      .floating()
      .formula([](Term x) { return log(x); })
      .reference([](auto x) { return std::log(x); })
      .max_ulp(1)
      .domain(0, 1000)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / v["self"]; });
}
}  // namespace ops

PEL_DEFINE_UNARY(log)

}  // namespace pel
