// max(x, 0). NaN stays.
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_relu() {
  return unary("relu")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return max(x.constant(0), x); })
      .reference([](auto x) { return x < 0 ? 0 : x; })
      .reference_int([](WideInt x) { return x < 0 ? 0 : x; })
      .vjp("self", "result",
           [](const Vjp& v) { return internal::threshold_backward(v.grad(), v["result"], 0); });
}
}  // namespace ops

PEL_DEFINE_UNARY(relu)

}  // namespace pel
