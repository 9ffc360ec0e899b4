// The hyperbolic tangent.
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_tanh() {
  return unary("tanh")
      .floating()
      .formula([](Term x) { return tanh(x); })
      .half([](Term x, DType half) { return tanh_half(x, half); })
      .reference([](auto x) { return std::tanh(x); })
      .max_ulp(1.5)
      .domain(-10, 10)
      .vjp("self", "result", [](const Vjp& v) { return internal::tanh_backward(v.grad(), v["result"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(tanh)

}  // namespace pel
