// The error function.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_erf() {
  return unary("erf")
      .floating()
      .formula([](Term x) { return erf(x); })
      .half([](Term x, DType half) { return erf_half(x, half); })
      .reference([](auto x) { return std::erf(x); })
      .max_ulp(1.5)
      .domain(-5, 5)
      .vjp("self", "self", [](const Vjp& v) {
        return v.grad() * exp(-(v["self"] * v["self"])) * (2 * std::numbers::inv_sqrtpi);
      });
}
}  // namespace ops

PEL_DEFINE_UNARY(erf)

}  // namespace pel
