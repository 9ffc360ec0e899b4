// The gradient of silu: grad s (1 + x (1 - s)), with s = sigmoid(x).
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

template <class T>
T reference_slope(T x, T sign) {
  if (std::isinf(x)) return x > 0;
  const T s = 1 / (1 + std::exp(-x)), rest = 1 / (1 + std::exp(x));
  return s + sign * x * s * rest;
}

}  // namespace

namespace ops {
OpDef define_silu_backward() {
  return pointwise<const Tensor&, const Tensor&>("silu_backward(Tensor grad, Tensor self) -> Tensor")
      .forms(Forms::Plain)
      .computes(kFloating)
      .formula([](Term grad, Term x) { return silu_backward(grad, x); })
      .half([](Term grad, Term x, DType half) { return silu_backward_half(grad, x, half); })
      .reference([](auto grad, auto x) { return grad * reference_slope<decltype(x)>(x, 1); })
      .magnitude(
          [](double grad, double x) { return std::abs(grad) * reference_slope(x, x < 0 ? -1.0 : 1.0); })
      .max_ulp(5)
      .domain(-10, 10)
      .domain(-110, 40)
      .vjp("grad", "self", [](const Vjp& v) { return internal::silu_backward(v.grad(), v["self"]); })
      .vjp("self", "grad self", [](const Vjp& v) {
        const Tensor s = sigmoid(v["self"]);
        return v.grad() * v["grad"] * (s * (1 - s)) * (v["self"] * (1 - 2 * s) + 2);
      });
}
}  // namespace ops

namespace internal {
Tensor silu_backward(const Tensor& grad, const Tensor& self, Site site) {
  return call<"silu_backward", pointwise_body<const Tensor&, const Tensor&>>(site, grad, self);
}
}  // namespace internal

}  // namespace pel
