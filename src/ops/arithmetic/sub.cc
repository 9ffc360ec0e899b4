// self - alpha * other. Bool is refused.
#include "ops/shared/pointwise.h"
#include "ops/shared/scaled.h"

namespace pel {
namespace {

Tensor sub_body(const Op& op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const std::size_t formula = scaled_formula(self, other, alpha);
  return run_pointwise(op, {self, other}, scaled_params(alpha, formula), formula);
}
const Tensor& sub_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& other,
                           const Scalar& alpha) {
  const std::size_t formula = scaled_formula(self, other, alpha);
  return run_pointwise_into(op, out, {self, other}, scaled_params(alpha, formula), formula);
}
const Tensor& sub_in_place(const Op& op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return sub_out_body(op, self, self, other, alpha);
}

}  // namespace

namespace ops {
OpDef define_sub() {
  return pointwise<sub_body, sub_in_place, sub_out_body>(
             "sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", 2, 1)
      .computes(kFloating | kIntegral)
      .refuses({kBool}, "use logical_xor or logical_not")
      .formula([](Term a, Term b, Term) { return a - b; })
      .reference([](auto a, auto b, auto) { return a - b; })
      .reference_int([](WideInt a, WideInt b, WideInt) { return a - b; })
      .formula([](Term a, Term b,
                  Term alpha) { return is_floating(a.type()) ? fma(-alpha, b, a) : a - alpha * b; },
               "scaled")
      .reference([](auto a, auto b, auto alpha) { return std::fma(-alpha, b, a); })
      .reference_int([](WideInt a, WideInt b, WideInt alpha) { return a - alpha * b; })
      .params({3})
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .vjp("other", "alpha", [](const Vjp& v) { return -scaled_gradient(v); });
}
}  // namespace ops

Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha, Site site) {
  return call<"sub", sub_body>(site, self, other, alpha);
}
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha, Site site) {
  return pel::sub(self, new_number(self, other), alpha, site);
}
const Tensor& sub_(const Tensor& self, const Tensor& other, const Scalar& alpha, Site site) {
  return call<"sub_", sub_in_place>(site, self, other, alpha);
}
const Tensor& sub_(const Tensor& self, const Scalar& other, const Scalar& alpha, Site site) {
  return pel::sub_(self, new_number(self, other), alpha, site);
}
const Tensor& sub_out(const Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha,
                      Site site) {
  return call<"sub.out", sub_out_body>(site, out, self, other, alpha);
}
const Tensor& sub_out(const Tensor& out, const Tensor& self, const Scalar& other, const Scalar& alpha,
                      Site site) {
  return pel::sub_out(out, self, new_number(self, other), alpha, site);
}

}  // namespace pel
