// x / 6 + 1/2 within [0, 1]. NaN stays.
#include "ops/family_pointwise.h"

namespace pel {

namespace ops {
OpDef define_hardsigmoid() {
  return unary("hardsigmoid")
      .computes(kFloating)
      .formula([](Term x) { return min(6, max(0, x + 3)) / 6; })
      .reference([](auto x) { return x <= -3  ? 0
                                     : x >= 3 ? 1
                                              : (x + 3) / 6; })
      .max_ulp(1.5)
      .domain(-4, 4);
}
}  // namespace ops

PEL_DEFINE_UNARY(hardsigmoid)

}  // namespace pel
