// 1 / (1 + e^-x).
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_sigmoid() {
  return unary("sigmoid")
      .floating()
      .formula([](Term x) { return sigmoid(x); })
      .half([](Term x, DType half) { return sigmoid_half(x, half); })
      .reference([](auto x) { return 1 / (1 + std::exp(-x)); })
      .max_ulp(2)
      .domain(-100, 40)
      .vjp("self", "result", [](const Vjp& v) { return internal::sigmoid_backward(v.grad(), v["result"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(sigmoid)

}  // namespace pel
