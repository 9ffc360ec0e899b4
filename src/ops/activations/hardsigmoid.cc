// x / 6 + 1/2 within [0, 1]. NaN stays.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_hardsigmoid() {
  return unary("hardsigmoid")
      .computes(kFloating)
      .formula([](Term x) { return min(6, max(0, x + 3)) / 6; })
      .reference([](auto x) { return x <= -3  ? 0
                                     : x >= 3 ? 1
                                              : (x + 3) / 6; })
      .max_ulp(1.5)
      .domain(-4, 4)
      .vjp("self", "self", [](const Vjp& v) { return where(lt(abs(v["self"]), 3), v.grad() / 6, 0); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}, -5, 5)}}; });
}
}  // namespace ops

PEL_DEFINE_UNARY(hardsigmoid)

}  // namespace pel
