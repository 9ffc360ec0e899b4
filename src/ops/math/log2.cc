// The logarithm to base 2; NaN below 0.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_log2() {
  return unary("log2")
      .floating()
      .formula([](Term x) { return log2(x); })
      .reference([](auto x) { return std::log2(x); })
      .max_ulp(1)
      .domain(0, 1000)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / (v["self"] * std::numbers::ln2); });
}
}  // namespace ops

PEL_DEFINE_UNARY(log2)

}  // namespace pel
