// Whether self is zero, as bool. NaN is not.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_logical_not() {
  return unary("logical_not")
      .gives_bool()
      .formula([](Term x) { return ~cast(x, kBool); })
      .reference([](auto x) { return x == 0; })
      .reference_int([](WideInt x) { return x == 0; });
}
}  // namespace ops

PEL_DEFINE_UNARY(logical_not)

}  // namespace pel
