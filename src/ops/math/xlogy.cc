// self * log(other), where 0 times anything but NaN is 0.
#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_xlogy() {
  return binary("xlogy")
      .floating()
      .formula([](Term x, Term y) { return select((x == 0) & ~is_nan(y), 0, x * log(y)); })
      .reference([](auto x, auto y) { return x == 0 && y == y ? 0 : x * std::log(y); })
      .max_ulp(2)
      .domain(-10, 10)
      .domain(0, 100)
      .vjp("self", "self other",
           [](const Vjp& v) {
             const Tensor at_0 = logical_and(eq(v["self"], 0), le(as_tensor_for(v.grad(), v["other"]), 0));
             return masked_fill(xlogy(v.grad(), v["other"]), at_0, 0);
           })
      .vjp("other", "self other", [](const Vjp& v) { return v.grad() * v["self"] / v["other"]; });
}
}  // namespace ops

PEL_DEFINE_BINARY(xlogy)

}  // namespace pel
