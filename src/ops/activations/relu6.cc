// x within [0, 6]. NaN stays.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_relu6() {
  return unary("relu6")
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return min(6, max(0, x)); })
      .reference([](auto x) { return x < 0   ? 0
                                     : x > 6 ? 6
                                             : x; })
      .reference_int([](WideInt x) { return x < 0   ? 0
                                            : x > 6 ? 6
                                                    : x; })
      .vjp("self", "result", [](const Vjp& v) { return inside_gradient(v.grad(), v["result"], 0, 6); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}, -8, 8)}}; });
}
}  // namespace ops

PEL_DEFINE_UNARY(relu6)

}  // namespace pel
