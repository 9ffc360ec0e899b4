// sin(pi x) / (pi x), and 1 at 0; NaN for infinities.
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// With n the nearest integer and r = x - n, which is exact: (-1)^n sin(pi r) / (pi r), a polynomial in r^2,
// times r / x.
Term sinc(Term x) {
  static const std::vector<double> f32 = {1, -0x1.a51a5ap0, 0x1.9f993cp-1, -0x1.8607cep-3, 0x1.95014ap-6};
  static const std::vector<double> f64 = {1,
                                          -0x1.a51a6625307d3p0,
                                          0x1.9f9cb402bc428p-1,
                                          -0x1.86a8e4720a11ap-3,
                                          0x1.ac6805cc82967p-6,
                                          -0x1.33816995ae33bp-9,
                                          0x1.3746a0e0cbe06p-13,
                                          -0x1.d3e66f4fbbe4bp-18,
                                          0x1.0740150d65aebp-22};
  const Term n = round(x);
  const Term r = x - n;
  const Term value = r * polynomial(r * r, x.type() == kF64 ? f64 : f32) / x;
  const Term is_even = round(n * 0.5) * 2 == n;
  return select(x == 0, 1, select(is_even, value, -value));
}

}  // namespace

namespace ops {
OpDef define_sinc() {
  return unary("sinc")
      .floating()
      .formula([](Term x) { return sinc(x); })
      .reference([](auto x) {
        using T = decltype(x);
        if (x == 0) return T(1);
        const T n = std::nearbyint(x), sign = std::remainder(n, T(2)) == 0 ? 1 : -1;
        return sign * (std::sin(std::numbers::pi_v<T> * (x - n)) / (std::numbers::pi_v<T> * x));
      })
      .max_ulp(3)
      .domain(-20, 20)
      .vjp("self", "self result", [](const Vjp& v) {
        const Tensor& x = v["self"];
        const Tensor at_0 = eq(x, 0);
        const Tensor slope = (cos(x * std::numbers::pi) - v["result"]) / masked_fill(x, at_0, 1);
        return v.grad() * masked_fill(slope, at_0, 0);
      });
}
}  // namespace ops

PEL_DEFINE_UNARY(sinc)

}  // namespace pel
