// x tanh(softplus(x)); NaN at -infinity.
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {
namespace ops {
OpDef define_mish() {
  return unary("mish")
      .computes(kFloating)
      .formula([](Term x) { return mish(x); })
      .reference([](auto x) { return x * std::tanh(std::log1p(std::exp(x))); })
      .max_ulp(3.5)
      .domain(-110, 40)
      .vjp("self", "self", [](const Vjp& v) {
        const Tensor& x = v["self"];
        const Tensor t = tanh(softplus(x));
        return v.grad() * (t + x * internal::tanh_backward(sigmoid(x), t));
      });
}
}  // namespace ops

PEL_DEFINE_UNARY(mish)

}  // namespace pel
