// -1, 0 or 1. Zeros and NaN give 0.
#include "ops/family_pointwise.h"

namespace pel {

namespace ops {
OpDef define_sign() {
  return unary("sign")
      .formula([](Term x) {
        if (x.type() == kBool) return x;
        return select(x > 0, 1, select(x < 0, x.constant(-1), 0));
      })
      .reference([](auto x) { return (x > 0) - (x < 0); })
      .reference_int([](WideInt x) { return (x > 0) - (x < 0); });
}
}  // namespace ops

PEL_DEFINE_UNARY(sign)

}  // namespace pel
