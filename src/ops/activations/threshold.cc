// x above the threshold, `value` elsewhere. NaN stays.
#include "pellucid/ops/internal.h"

#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_threshold() {
  return pointwise<const Tensor&, const Scalar&, const Scalar&>(
             "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor")
      .computes(kFloating | kIntegral)
      .formula([](Term x, Term limit, Term value) { return select(x <= limit, value, x); })
      .reference([](auto x, auto limit, auto value) { return x <= limit ? value : x; })
      .reference_int([](WideInt x, WideInt limit, WideInt value) { return x <= limit ? value : x; })
      .params({3, 7})
      .vjp("self", "self threshold",
           [](const Vjp& v) {
             return internal::threshold_backward(v.grad(), v["self"], v.get<Scalar>("threshold"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Scalar(0.25), Scalar(7)}}; });
}
}  // namespace ops

Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value, Site site) {
  return call<"threshold", pointwise_body<const Tensor&, const Scalar&, const Scalar&>>(site, self, threshold,
                                                                                        value);
}
const Tensor& threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value, Site site) {
  return call<"threshold_", pointwise_in_place<const Tensor&, const Scalar&, const Scalar&>>(
      site, self, threshold, value);
}
const Tensor& threshold_out(const Tensor& out, const Tensor& self, const Scalar& threshold,
                            const Scalar& value, Site site) {
  return call<"threshold.out", pointwise_out<const Tensor&, const Scalar&, const Scalar&>>(site, out, self,
                                                                                           threshold, value);
}

}  // namespace pel
