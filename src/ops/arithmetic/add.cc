// self + alpha * other. Of bools: whether one is true.
#include "ops/shared/pointwise.h"
#include "ops/shared/scaled.h"

namespace pel {
namespace {

Tensor add_body(const Op& op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const std::size_t formula = scaled_formula(self, other, alpha);
  return run_pointwise(op, {self, other}, scaled_params(alpha, formula), formula);
}
const Tensor& add_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& other,
                           const Scalar& alpha) {
  const std::size_t formula = scaled_formula(self, other, alpha);
  return run_pointwise_into(op, out, {self, other}, scaled_params(alpha, formula), formula);
}
const Tensor& add_in_place(const Op& op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return add_out_body(op, self, self, other, alpha);
}

}  // namespace

namespace ops {
OpDef define_add() {
  return pointwise<add_body, add_in_place, add_out_body>(
             "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", 2, 1)
      .formula([](Term a, Term b, Term) { return a.type() == kBool ? a | b : a + b; })
      .reference([](auto a, auto b, auto) { return a + b; })
      .reference_int([](WideInt a, WideInt b, WideInt) { return a + b; })
      .reference_bool([](WideInt a, WideInt b, WideInt) { return a | b; })
      .formula(
          [](Term a, Term b, Term alpha) {
            if (a.type() == kBool) return a | (alpha & b);
            return is_floating(a.type()) ? fma(alpha, b, a) : a + alpha * b;
          },
          "scaled")
      .reference([](auto a, auto b, auto alpha) { return std::fma(alpha, b, a); })
      .reference_int([](WideInt a, WideInt b, WideInt alpha) { return a + alpha * b; })
      .reference_bool([](WideInt a, WideInt b, WideInt alpha) { return a != 0 || (alpha != 0 && b != 0); })
      .params({3})
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .vjp("other", "alpha", scaled_gradient);
}
}  // namespace ops

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha, Site site) {
  return call<"add", add_body>(site, self, other, alpha);
}
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha, Site site) {
  return pel::add(self, new_number(self, other), alpha, site);
}
const Tensor& add_(const Tensor& self, const Tensor& other, const Scalar& alpha, Site site) {
  return call<"add_", add_in_place>(site, self, other, alpha);
}
const Tensor& add_(const Tensor& self, const Scalar& other, const Scalar& alpha, Site site) {
  return pel::add_(self, new_number(self, other), alpha, site);
}
const Tensor& add_out(const Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha,
                      Site site) {
  return call<"add.out", add_out_body>(site, out, self, other, alpha);
}
const Tensor& add_out(const Tensor& out, const Tensor& self, const Scalar& other, const Scalar& alpha,
                      Site site) {
  return pel::add_out(out, self, new_number(self, other), alpha, site);
}

}  // namespace pel
