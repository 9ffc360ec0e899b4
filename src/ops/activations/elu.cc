// scale x, below 0 scale alpha (e^(input_scale x) - 1).
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_elu() {
  return pointwise<const Tensor&, const Scalar&, const Scalar&, const Scalar&>(
             "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor")
      .computes(kFloating)
      .formula([](Term x, Term alpha, Term scale, Term input_scale) {
        return select(x < 0, expm1(x * input_scale) * (alpha * scale), x * scale);
      })
      .reference([](auto x, auto alpha, auto scale, auto input_scale) {
        return x < 0 ? scale * alpha * std::expm1(x * input_scale) : scale * x;
      })
      .max_ulp(4)
      .domain(-20, 20)
      .params({1.5, 2, 0.5})
      .vjp("self", "self alpha scale input_scale",
           [](const Vjp& v) {
             const auto number = [&](const char* name) { return v.get<Scalar>(name).to_double(); };
             return elu_gradient(v.grad(), v["self"],
                                 {number("alpha"), number("scale"), number("input_scale")});
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), Scalar(1.5), Scalar(2), Scalar(0.5)}}; });
}
}  // namespace ops

Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
           Site site) {
  return call<"elu", pointwise_body<const Tensor&, const Scalar&, const Scalar&, const Scalar&>>(
      site, self, alpha, scale, input_scale);
}
const Tensor& elu_(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
                   Site site) {
  return call<"elu_", pointwise_in_place<const Tensor&, const Scalar&, const Scalar&, const Scalar&>>(
      site, self, alpha, scale, input_scale);
}
const Tensor& elu_out(const Tensor& out, const Tensor& self, const Scalar& alpha, const Scalar& scale,
                      const Scalar& input_scale, Site site) {
  return call<"elu.out", pointwise_out<const Tensor&, const Scalar&, const Scalar&, const Scalar&>>(
      site, out, self, alpha, scale, input_scale);
}

}  // namespace pel
