// self * log(1 + other), where 0 times anything but NaN is 0.
#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_xlog1py() {
  return binary("xlog1py")
      .forms(Forms::Out)
      .floating()
      .formula([](Term x, Term y) { return select((x == 0) & ~is_nan(y), 0, x * log1p(y)); })
      .reference([](auto x, auto y) { return x == 0 && y == y ? 0 : x * std::log1p(y); })
      .max_ulp(2)
      .domain(-10, 10)
      .domain(-1, 100)
      .vjp("self", "self other",
           [](const Vjp& v) {
             const Tensor at_0 = logical_and(eq(v["self"], 0), le(as_tensor_for(v.grad(), v["other"]), -1));
             return masked_fill(xlog1py(v.grad(), v["other"]), at_0, 0);
           })
      .vjp("other", "self other", [](const Vjp& v) { return v.grad() * v["self"] / (v["other"] + 1); });
}
}  // namespace ops

PEL_DEFINE_BINARY_PLAIN(xlog1py)
PEL_DEFINE_BINARY_OUT(xlog1py)

}  // namespace pel
