// The gradient of tanh: grad (1 - result^2).
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_tanh_backward() {
  return pointwise<const Tensor&, const Tensor&>("tanh_backward(Tensor grad, Tensor result) -> Tensor")
      .forms(Forms::Plain)
      .computes(kFloating)
      .formula([](Term grad, Term y) { return grad * fma(-y, y, 1); })
      .reference([](auto grad, auto y) {
        return grad * static_cast<Computed<decltype(y)>>((1 - y) * (1 + y));  // infinite where it overflows
      })
      .max_ulp(2)
      .domain(-10, 10)
      .domain(-1, 1)
      .vjp("grad", "result", [](const Vjp& v) { return internal::tanh_backward(v.grad(), v["result"]); })
      .vjp("result", "grad result", [](const Vjp& v) { return v.grad() * v["grad"] * (-2 * v["result"]); });
}
}  // namespace ops

namespace internal {
Tensor tanh_backward(const Tensor& grad, const Tensor& result, Site site) {
  return call<"tanh_backward", pointwise_body<const Tensor&, const Tensor&>>(site, grad, result);
}
}  // namespace internal

}  // namespace pel
