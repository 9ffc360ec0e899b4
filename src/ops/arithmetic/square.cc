// x^2. Integers wrap; bool is refused.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_square() {
  return unary("square")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return x * x; })
      .reference([](auto x) { return x * x; })
      .reference_int([](WideInt x) { return x * x; })
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * (2 * v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(square)

}  // namespace pel
