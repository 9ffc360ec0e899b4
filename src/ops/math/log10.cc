// The logarithm to base 10; NaN below 0.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_log10() {
  return unary("log10")
      .floating()
      .formula([](Term x) { return log10(x); })
      .reference([](auto x) { return std::log10(x); })
      .max_ulp(1.5)
      .domain(0, 1000)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / (v["self"] * std::numbers::ln10); });
}
}  // namespace ops

PEL_DEFINE_UNARY(log10)

}  // namespace pel
