// The largest integer that is not above x. Integers stay as they are.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_floor() {
  return unary("floor")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return is_floating(x.type()) ? floor(x) : x; })
      .reference([](auto x) { return std::floor(x); })
      .reference_int([](WideInt x) { return x; })
      .vjp("self", "", zero_gradient);
}
}  // namespace ops

PEL_DEFINE_UNARY(floor)

}  // namespace pel
