// 2^x.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_exp2() {
  return unary("exp2")
      .floating()
      .formula([](Term x) { return exp2(x); })
      .reference([](auto x) { return std::exp2(x); })
      .max_ulp(1)
      .domain(-155, 130)
      .vjp("self", "result", [](const Vjp& v) { return v.grad() * v["result"] * std::numbers::ln2; });
}
}  // namespace ops

PEL_DEFINE_UNARY(exp2)

}  // namespace pel
