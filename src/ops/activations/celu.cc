// x, below 0 alpha (e^(x / alpha) - 1).
#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

void check_alpha(const Scalar& alpha) {
  PEL_CHECK(alpha.to_double() != 0, ValueError, "alpha divides, so it is not 0");
}

Tensor celu_body(const Op& op, const Tensor& self, const Scalar& alpha) {
  check_alpha(alpha);
  return run_pointwise(op, {self}, {alpha});
}
const Tensor& celu_in_place(const Op& op, const Tensor& self, const Scalar& alpha) {
  check_alpha(alpha);
  return run_pointwise_into(op, self, {self}, {alpha});
}
const Tensor& celu_out_body(const Op& op, const Tensor& out, const Tensor& self, const Scalar& alpha) {
  check_alpha(alpha);
  return run_pointwise_into(op, out, {self}, {alpha});
}

}  // namespace

namespace ops {
OpDef define_celu() {
  return pointwise<celu_body, celu_in_place, celu_out_body>("celu(Tensor self, Scalar alpha=1) -> Tensor", 1,
                                                            1)
      .computes(kFloating)
      .formula([](Term x, Term alpha) { return select(x < 0, expm1(x / alpha) * alpha, x); })
      .reference([](auto x, auto alpha) { return x < 0 ? alpha * std::expm1(x / alpha) : x; })
      .max_ulp(3)
      .domain(-20, 20)
      .params({1.5})
      .vjp("self", "self alpha", [](const Vjp& v) {
        const double alpha = v.get<Scalar>("alpha").to_double();
        return elu_gradient(v.grad(), v["self"], {alpha, 1, 1 / alpha});
      });
}
}  // namespace ops

Tensor celu(const Tensor& self, const Scalar& alpha, Site site) {
  return call<"celu", celu_body>(site, self, alpha);
}
const Tensor& celu_(const Tensor& self, const Scalar& alpha, Site site) {
  return call<"celu_", celu_in_place>(site, self, alpha);
}
const Tensor& celu_out(const Tensor& out, const Tensor& self, const Scalar& alpha, Site site) {
  return call<"celu.out", celu_out_body>(site, out, self, alpha);
}

}  // namespace pel
