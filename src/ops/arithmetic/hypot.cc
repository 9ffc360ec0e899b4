// sqrt(self^2 + other^2), without overflow in between. Infinity with NaN is infinity.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_hypot() {
  return binary("hypot")
      .computes(kFloating)
      .formula([](Term a, Term b) { return hypot(a, b); })
      .reference([](auto a, auto b) { return std::hypot(a, b); })
      .max_ulp(1, 1.25)
      .vjp("self", "self result", [](const Vjp& v) { return v.grad() * (v["self"] / v["result"]); })
      .vjp("other", "other result", [](const Vjp& v) { return v.grad() * (v["other"] / v["result"]); });
}
}  // namespace ops

PEL_DEFINE_BINARY(hypot)

}  // namespace pel
