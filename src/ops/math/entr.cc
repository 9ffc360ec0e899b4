// The entropy -x ln x: 0 at 0, -infinity below.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_entr() {
  return unary("entr")
      .floating()
      .formula([](Term x) {
        const Term value = select(x == 0, 0, -x * log(x));
        return select(x < 0, -HUGE_VAL, value);
      })
      .reference([](auto x) {
        return x > 0 ? -x * std::log(x) : x == 0 ? 0 : x < 0 ? -HUGE_VAL : x;
      })
      .max_ulp(2)
      .domain(0, 100)
      .forms(Forms::Out)
      .vjp("self", "self", [](const Vjp& v) { return -(v.grad() * (log(v["self"]) + 1)); });
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(entr)
PEL_DEFINE_UNARY_OUT(entr)

}  // namespace pel
