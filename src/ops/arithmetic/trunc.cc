// x without its fraction. Integers stay as they are.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_trunc() {
  return unary("trunc")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return is_floating(x.type()) ? trunc(x) : x; })
      .reference([](auto x) { return std::trunc(x); })
      .reference_int([](WideInt x) { return x; })
      .vjp("self", "", zero_gradient);
}
}  // namespace ops

PEL_DEFINE_UNARY(trunc)

}  // namespace pel
