// x hardsigmoid(x); NaN at -infinity.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_hardswish() {
  return unary("hardswish")
      .computes(kFloating)
      .formula([](Term x) { return x * (min(6, max(0, x + 3)) / 6); })
      .reference([](auto x) { return x <= -3  ? x * 0
                                     : x >= 3 ? x
                                              : x * (x + 3) / 6; })
      .max_ulp(2)
      .domain(-4, 4)
      .vjp("self", "self",
           [](const Vjp& v) {
             const Tensor& x = v["self"];
             return where(lt(abs(x), 3), v.grad() * (x / 3 + 0.5), where(lt(x, 0), 0, v.grad()));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}, -5, 5)}}; });
}
}  // namespace ops

PEL_DEFINE_UNARY(hardswish)

}  // namespace pel
