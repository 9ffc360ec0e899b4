// The same as sign: these are real numbers.
#include "ops/family_pointwise.h"

namespace pel {

namespace ops {
OpDef define_sgn() {
  return unary("sgn")
      .formula([](Term x) {
        if (x.type() == kBool) return x;
        return select(x > 0, 1, select(x < 0, x.constant(-1), 0));
      })
      .reference([](auto x) { return (x > 0) - (x < 0); })
      .reference_int([](WideInt x) { return (x > 0) - (x < 0); });
}
}  // namespace ops

PEL_DEFINE_UNARY(sgn)

}  // namespace pel
