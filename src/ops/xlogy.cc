// self * log(other), where 0 times anything but NaN is 0.
#include "ops/family_pointwise.h"

namespace pel {

namespace ops {
OpDef define_xlogy() {
  return binary("xlogy")
      .floating()
      .formula([](Term x, Term y) { return select((x == 0) & ~is_nan(y), 0, x * log(y)); })
      .reference([](auto x, auto y) { return x == 0 && y == y ? 0 : x * std::log(y); })
      .max_ulp(2)
      .domain(-10, 10)
      .domain(0, 100);
}
}  // namespace ops

PEL_DEFINE_BINARY(xlogy)

}  // namespace pel
