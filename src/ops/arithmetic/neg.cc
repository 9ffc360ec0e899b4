// -x. Unsigned integers wrap; bool is refused.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_neg() {
  return unary("neg")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return -x; })
      .reference([](auto x) { return -x; })
      .reference_int([](WideInt x) { return -x; })
      .vjp("self", "", [](const Vjp& v) { return -v.grad(); });
}
}  // namespace ops

PEL_DEFINE_UNARY(neg)

}  // namespace pel
