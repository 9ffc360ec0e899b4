// The magnitude of self with the sign of other, that of zeros and NaN too.
#include "ops/family_pointwise.h"

namespace pel {

namespace ops {
OpDef define_copysign() {
  return binary("copysign")
      .floating()
      .formula([](Term a, Term b) { return copy_sign(a, b); })
      .reference([](auto a, auto b) { return std::copysign(a, b); });
}
}  // namespace ops

PEL_DEFINE_BINARY(copysign)

}  // namespace pel
