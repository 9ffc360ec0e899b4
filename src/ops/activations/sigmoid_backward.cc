// The gradient of sigmoid: grad result (1 - result).
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_sigmoid_backward() {
  return pointwise<const Tensor&, const Tensor&>("sigmoid_backward(Tensor grad, Tensor result) -> Tensor")
      .forms(Forms::Plain)
      .computes(kFloating)
      .formula([](Term grad, Term y) { return grad * (1 - y) * y; })
      .reference([](auto grad, auto y) { return grad * (1 - y) * y; })
      .max_ulp(3)
      .domain(-10, 10)
      .domain(0, 1)
      .vjp("grad", "result", [](const Vjp& v) { return internal::sigmoid_backward(v.grad(), v["result"]); })
      .vjp("result", "grad result",
           [](const Vjp& v) { return v.grad() * v["grad"] * (1 - 2 * v["result"]); });
}
}  // namespace ops

namespace internal {
Tensor sigmoid_backward(const Tensor& grad, const Tensor& result, Site site) {
  return call<"sigmoid_backward", pointwise_body<const Tensor&, const Tensor&>>(site, grad, result);
}
}  // namespace internal

}  // namespace pel
