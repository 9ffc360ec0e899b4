// The inverse of erf; NaN outside of [-1, 1].
#include <limits>
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// Halley's iteration on erf, or near 1 on erfc, from Winitzki's closed form.
template <class T>
T reference_erfinv(T x) {
  const T a = std::abs(x);
  if (!(a < 1)) return a == 1 ? x * std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
  const T half_sqrt_pi = 1 / (std::numbers::inv_sqrtpi_v<T> * 2);
  const T log = std::log1p(-a * a), half = 2 / (std::numbers::pi_v<T> * T(0.147)) + log / 2;
  T y = a < T(0.01) ? half_sqrt_pi * a : std::sqrt(std::sqrt(half * half - log / T(0.147)) - half);
  for (int i = 0; i < 4; ++i) {
    const T excess = a < T(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const T step = excess * half_sqrt_pi * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

}  // namespace

namespace ops {
OpDef define_erfinv() {
  return unary("erfinv")
      .floating()
      .formula([](Term x) { return erfinv(x); })
      .reference([](auto x) { return reference_erfinv(x); })
      .max_ulp(4)
      .domain(-1, 1)
      .vjp("self", "result", [](const Vjp& v) {
        return v.grad() * exp(v["result"] * v["result"]) * (0.5 / std::numbers::inv_sqrtpi);
      });
}
}  // namespace ops

PEL_DEFINE_UNARY(erfinv)

}  // namespace pel
