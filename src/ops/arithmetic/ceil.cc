// The smallest integer that is not below x. Integers stay as they are.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_ceil() {
  return unary("ceil")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return is_floating(x.type()) ? ceil(x) : x; })
      .reference([](auto x) { return std::ceil(x); })
      .reference_int([](WideInt x) { return x; })
      .vjp("self", "", zero_gradient);
}
}  // namespace ops

PEL_DEFINE_UNARY(ceil)

}  // namespace pel
