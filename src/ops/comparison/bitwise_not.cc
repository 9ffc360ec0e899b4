// ~self: the other bits of an integer, the other value of a bool.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_bitwise_not() {
  return unary("bitwise_not")
      .computes(kIntegral | DTypeSet{kBool})
      .formula([](Term x) { return ~x; })
      .reference_int([](WideInt x) { return -1 - x; })
      .reference_bool([](WideInt x) { return 1 - x; })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_UNARY(bitwise_not)

}  // namespace pel
