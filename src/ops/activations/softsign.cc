// x / (1 + |x|); NaN for infinities.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_softsign() {
  return unary("softsign")
      .floating()
      .formula([](Term x) { return x / (1 + abs(x)); })
      .reference([](auto x) { return x / (1 + std::abs(x)); })
      .max_ulp(1.5)
      .domain(-100, 100)
      .forms(Forms::Out)
      .vjp("self", "self", [](const Vjp& v) { return v.grad() / square(abs(v["self"]) + 1); });
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(softsign)
PEL_DEFINE_UNARY_OUT(softsign)

}  // namespace pel
