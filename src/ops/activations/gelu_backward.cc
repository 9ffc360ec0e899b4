// The gradient of gelu: grad (Phi(x) + x phi(x)), with the normal distribution function and its
// density; or the same of what a tanh approximates it by.
#include <numbers>

#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// With sign -1 the terms do not cancel below 0.
template <class T>
T reference_slope(T x, T sign) {
  if (std::isinf(x)) return x > 0;
  const T root = std::numbers::sqrt2_v<T>;
  const T density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<T> / root;
  return std::erfc(-x / root) / 2 + sign * x * density;
}

constexpr long double kLinear = 0xcc42299ea1b28468p-63L, kCubic = 0x922279526c5a57a5p-67L;

template <class T>
T reference_tanh_slope(T x, T sign) {
  if (!(std::abs(x) < 1000)) return std::isnan(x) ? x : x > 0;
  const T a = T(kLinear), b = T(kCubic), z = x * (a + b * x * x);
  const T s = 1 / (1 + std::exp(-z)), rest = 1 / (1 + std::exp(z));
  return s + sign * x * (a + 3 * b * x * x) * s * rest;
}

Tensor gelu_backward_body(const Op& op, const Tensor& grad, const Tensor& self, GeluApproximate approximate) {
  return run_pointwise(op, {grad, self}, {}, static_cast<std::size_t>(approximate));
}

// How fast the slope of x Phi(x) changes: (2 - x^2) phi(x).
Tensor curvature(const Tensor& x) {
  const Tensor square = x * x;
  return (2 - square) * exp(square * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}
// The same of x s(z(x)), with s = sigmoid.
Tensor tanh_curvature(const Tensor& x) {
  constexpr auto a = static_cast<double>(kLinear), b = static_cast<double>(kCubic);
  const Tensor square = x * x, slope = square * (3 * b) + a;
  const Tensor s = sigmoid(x * (square * b + a));
  return s * (1 - s) * (2 * slope + x * ((1 - 2 * s) * slope * slope) + square * (6 * b));
}

}  // namespace

namespace ops {
OpDef define_gelu_backward() {
  return PointwiseDef(define_op<gelu_backward_body>(
                          OpKind::Kernel,
                          "gelu_backward(Tensor grad, Tensor self, *, str approximate='none') -> Tensor"),
                      OpDef(), OpDef(), 2, 0)
      .forms(Forms::Plain)
      .computes(kFloating)
      .formula([](Term grad, Term x) { return gelu_backward(grad, x); })
      .half([](Term grad, Term x, DType half) { return gelu_backward_half(grad, x, half); })
      .reference([](auto grad, auto x) { return grad * reference_slope<decltype(x)>(x, 1); })
      .magnitude(
          [](double grad, double x) { return std::abs(grad) * reference_slope(x, x < 0 ? -1.0 : 1.0); })
      .max_ulp(4)
      .formula([](Term grad, Term x) { return gelu_tanh_backward(grad, x); }, "tanh")
      .half([](Term grad, Term x, DType half) { return gelu_tanh_backward_half(grad, x, half); })
      .reference([](auto grad, auto x) { return grad * reference_tanh_slope<decltype(x)>(x, 1); })
      .magnitude(
          [](double grad, double x) { return std::abs(grad) * reference_tanh_slope(x, x < 0 ? -1.0 : 1.0); })
      .max_ulp(7)
      .domain(-10, 10)
      .domain(-12, 10)
      .vjp("grad", "self approximate",
           [](const Vjp& v) {
             return internal::gelu_backward(v.grad(), v["self"], v.get<GeluApproximate>("approximate"));
           })
      .vjp("self", "grad self approximate",
           [](const Vjp& v) {
             const bool is_exact = v.get<GeluApproximate>("approximate") == GeluApproximate::None;
             return v.grad() * v["grad"] * (is_exact ? curvature(v["self"]) : tanh_curvature(v["self"]));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s({3, 4}), std::string("tanh")}}; });
}
}  // namespace ops

namespace internal {
Tensor gelu_backward(const Tensor& grad, const Tensor& self, GeluApproximate approximate, Site site) {
  return call<"gelu_backward", gelu_backward_body>(site, grad, self, approximate);
}
}  // namespace internal

}  // namespace pel
