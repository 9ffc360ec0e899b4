// log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

// The exponential is of -|beta x|, corrected by the rounding error of the multiplication.
Term softplus(Term x, Term beta, Term threshold) {
  const Term z = x * beta;
  const Term lost = min(fma(x, beta, -z), 1);  // 1 for NaN, where e is 0 or NaN itself
  const Term e = exp(-abs(z));
  const Term exact = fma(e, select(z < 0, lost, -lost), e);
  return select(z > threshold, x, (max(0, z) + log1p(exact)) / beta);
}

}  // namespace

namespace ops {
OpDef define_softplus() {
  return pointwise<const Tensor&, const Scalar&, const Scalar&>(
             "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor")
      .computes(kFloating)
      .formula([](Term x, Term beta, Term threshold) { return softplus(x, beta, threshold); })
      .reference([](auto x, auto beta, auto threshold) {
        return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
      })
      .max_ulp(4)
      .domain(-110, 40)
      .params({2, 20})
      .forms(Forms::Out)
      .vjp("self", "self beta threshold",
           [](const Vjp& v) {
             const Tensor z = scaled(v["self"], v.get<Scalar>("beta"));
             return where(gt(z, v.get<Scalar>("threshold")), v.grad(), v.grad() * sigmoid(z));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Scalar(2), Scalar(1)}}; });
}
}  // namespace ops

Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold, Site site) {
  return call<"softplus", pointwise_body<const Tensor&, const Scalar&, const Scalar&>>(site, self, beta,
                                                                                       threshold);
}
const Tensor& softplus_out(const Tensor& out, const Tensor& self, const Scalar& beta, const Scalar& threshold,
                           Site site) {
  return call<"softplus.out", pointwise_out<const Tensor&, const Scalar&, const Scalar&>>(site, out, self,
                                                                                          beta, threshold);
}

}  // namespace pel
