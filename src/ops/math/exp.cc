// e^x.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_exp() {
  return unary("exp")
      .floating()
      .formula([](Term x) { return exp(x); })
      .half([](Term x, DType half) { return exp_half(x, half); })
      .reference([](auto x) { return std::exp(x); })
      .max_ulp(1)
      .domain(-110, 95)
      .vjp("self", "result", [](const Vjp& v) { return v.grad() * v["result"]; });
}
}  // namespace ops

PEL_DEFINE_UNARY(exp)

}  // namespace pel
