// x times the normal distribution function, exact in its lower tail; or what a tanh approximates it by. NaN
// at -infinity.

#include <numbers>

#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// Of x / sqrt(2) the rounding error counts x^2 times: it is put back through the exponent.
template <class T>
T reference_gelu(T x) {
  const T y = -x / std::numbers::sqrt2_v<T>;
  if (!(x < 0) || x < -100) return x * (std::erfc(y) / 2);
  const T square = y * y, half = x * x / 2;
  const T lost = (square - half) + (std::fma(y, y, -square) - std::fma(x, x / 2, -half));
  return x * (std::erfc(y) / 2) * std::exp(lost);
}

// x / (1 + e^-z) with z = 2 sqrt(2 / pi) (x + 0.044715 x^3) in two parts.
template <class T>
T reference_gelu_tanh(T x) {
  constexpr long double kLinear = 0xcc42299ea1b28468p-63L, kLinearRest = 0xfcb3c500bab8e2ffp-128L;
  constexpr long double kCubic = 0x922279526c5a57a5p-67L, kCubicRest = -0x843a29d1c7079669p-133L;
  if (!(std::abs(x) < 100)) return x / (1 + std::exp(-x * std::abs(x)));
  const T a = T(kLinear), b = T(kCubic);
  const T a_rest = T(kLinear - a + kLinearRest), b_rest = T(kCubic - b + kCubicRest);
  const T square = x * x, cubic = b * square;
  const T cubic_rest = std::fma(b, square, -cubic) + b * std::fma(x, x, -square) + b_rest * square;
  const T slope = a + cubic, back = slope - a;
  const T slope_rest = (a - (slope - back)) + (cubic - back) + a_rest + cubic_rest;
  const T z = x * slope;
  const T rest = std::fma(x, slope, -z) + x * slope_rest;
  return x / (1 + std::exp(-z) * (1 - rest));
}

Tensor gelu_body(const Op& op, const Tensor& self, GeluApproximate approximate) {
  return run_pointwise(op, {self}, {}, static_cast<std::size_t>(approximate));
}
const Tensor& gelu_in_place(const Op& op, const Tensor& self, GeluApproximate approximate) {
  return run_pointwise_into(op, self, {self}, {}, static_cast<std::size_t>(approximate));
}
const Tensor& gelu_out_body(const Op& op, const Tensor& out, const Tensor& self,
                            GeluApproximate approximate) {
  return run_pointwise_into(op, out, {self}, {}, static_cast<std::size_t>(approximate));
}

}  // namespace

namespace ops {
OpDef define_gelu() {
  return pointwise<gelu_body, gelu_in_place, gelu_out_body>(
             "gelu(Tensor self, *, str approximate='none') -> Tensor", 1, 0)
      .computes(kFloating)
      .formula([](Term x) { return gelu(x); })
      .half([](Term x, DType half) { return gelu_half(x, half); })
      .reference([](auto x) { return reference_gelu(x); })
      .max_ulp(4)
      .formula([](Term x) { return gelu_tanh(x); }, "tanh")
      .half([](Term x, DType half) { return gelu_tanh_half(x, half); })
      .reference([](auto x) { return reference_gelu_tanh(x); })
      .max_ulp(3)
      .domain(-14, 10)
      .vjp("self", "self approximate",
           [](const Vjp& v) {
             return internal::gelu_backward(v.grad(), v["self"], v.get<GeluApproximate>("approximate"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), std::string("tanh")}}; });
}
}  // namespace ops

Tensor gelu(const Tensor& self, GeluApproximate approximate, Site site) {
  return call<"gelu", gelu_body>(site, self, approximate);
}
const Tensor& gelu_(const Tensor& self, GeluApproximate approximate, Site site) {
  return call<"gelu_", gelu_in_place>(site, self, approximate);
}
const Tensor& gelu_out(const Tensor& out, const Tensor& self, GeluApproximate approximate, Site site) {
  return call<"gelu.out", gelu_out_body>(site, out, self, approximate);
}

}  // namespace pel
