// The gradient of threshold and relu: grad where self is above the threshold, or NaN; 0 elsewhere.
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_threshold_backward() {
  return pointwise<const Tensor&, const Tensor&, const Scalar&>(
             "threshold_backward(Tensor grad, Tensor self, Scalar threshold) -> Tensor")
      .forms(Forms::Plain)
      .computes(kFloating | kIntegral)
      .formula([](Term grad, Term x, Term limit) { return select(x <= limit, 0, grad); })
      .reference([](auto grad, auto x, auto limit) { return x <= limit ? 0 : grad; })
      .reference_int([](WideInt grad, WideInt x, WideInt limit) { return x <= limit ? 0 : grad; })
      .params({1})
      .vjp("grad", "self threshold",
           [](const Vjp& v) {
             return internal::threshold_backward(v.grad(), v["self"], v.get<Scalar>("threshold"));
           })
      .no_vjp("self");
}
}  // namespace ops

namespace internal {
Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold, Site site) {
  return call<"threshold_backward", pointwise_body<const Tensor&, const Tensor&, const Scalar&>>(
      site, grad, self, threshold);
}
}  // namespace internal

}  // namespace pel
