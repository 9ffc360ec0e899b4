// The distribution function of the normal distribution, exact in its lower tail.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// Of x / sqrt(2) the rounding error counts x^2 times: it is put back through the exponent.
template <class T>
T reference_ndtr(T x) {
  const T y = -x / std::numbers::sqrt2_v<T>;
  if (!(x < 0) || x < -100) return std::erfc(y) / 2;
  const T square = y * y, half = x * x / 2;
  const T lost = (square - half) + (std::fma(y, y, -square) - std::fma(x, x / 2, -half));
  return std::erfc(y) / 2 * std::exp(lost);
}

}  // namespace

namespace ops {
OpDef define_ndtr() {
  return unary("ndtr")
      .floating()
      .formula([](Term x) { return ndtr(x); })
      .reference([](auto x) { return reference_ndtr(x); })
      .max_ulp(4)
      .domain(-14, 6)
      .forms(Forms::Out)
      .vjp("self", "self", [](const Vjp& v) {
        return v.grad() * exp(v["self"] * v["self"] * -0.5) *
               (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      });
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(ndtr)
PEL_DEFINE_UNARY_OUT(ndtr)

}  // namespace pel
