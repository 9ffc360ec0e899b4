// The magnitude of self with the sign of other, that of zeros and NaN too.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_copysign() {
  return binary("copysign")
      .floating()
      .formula([](Term a, Term b) { return copy_sign(a, b); })
      .reference([](auto a, auto b) { return std::copysign(a, b); })
      .vjp("self", "self result",
           [](const Vjp& v) { return v.grad() * masked_fill(v["result"] / v["self"], eq(v["self"], 0), 0); })
      .vjp("other", "", zero_gradient);
}
}  // namespace ops

PEL_DEFINE_BINARY(copysign)

}  // namespace pel
