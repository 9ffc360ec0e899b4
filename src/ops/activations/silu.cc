// x / (1 + e^-x), also named swish; NaN at -infinity.
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_silu() {
  return unary("silu")
      .computes(kFloating)
      .formula([](Term x) { return silu(x); })
      .half([](Term x, DType half) { return silu_half(x, half); })
      .reference([](auto x) { return x / (1 + std::exp(-x)); })
      .max_ulp(3)
      .domain(-110, 40)
      .vjp("self", "self", [](const Vjp& v) { return internal::silu_backward(v.grad(), v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(silu)

}  // namespace pel
