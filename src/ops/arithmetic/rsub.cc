// other - alpha * self. Bool is refused.
#include "ops/shared/pointwise.h"
#include "ops/shared/scaled.h"

namespace pel {
namespace {

Tensor rsub_body(const Op& op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  // As in PyTorch, this is sub(other, self): the order of axes is other's.
  const std::size_t formula = scaled_formula(self, other, alpha);
  return run_pointwise(op, {other, self}, scaled_params(alpha, formula), formula);
}
const Tensor& rsub_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& other,
                            const Scalar& alpha) {
  const std::size_t formula = scaled_formula(self, other, alpha);
  return run_pointwise_into(op, out, {other, self}, scaled_params(alpha, formula), formula);
}
const Tensor& rsub_in_place(const Op& op, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return rsub_out_body(op, self, self, other, alpha);
}

}  // namespace

namespace ops {
OpDef define_rsub() {
  return pointwise<rsub_body, rsub_in_place, rsub_out_body>(
             "rsub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", 2, 1)
      .forms(Forms::Plain)
      .swaps_inputs()
      .computes(kFloating | kIntegral)
      .refuses({kBool}, "use logical_xor or logical_not")
      .formula([](Term b, Term a, Term) { return b - a; })
      .reference([](auto b, auto a, auto) { return b - a; })
      .reference_int([](WideInt b, WideInt a, WideInt) { return b - a; })
      .formula([](Term b, Term a,
                  Term alpha) { return is_floating(a.type()) ? fma(-alpha, a, b) : b - alpha * a; },
               "scaled")
      .reference([](auto b, auto a, auto alpha) { return std::fma(-alpha, a, b); })
      .reference_int([](WideInt b, WideInt a, WideInt alpha) { return b - alpha * a; })
      .params({3})
      .vjp("self", "alpha", [](const Vjp& v) { return -scaled_gradient(v); })
      .vjp("other", "", [](const Vjp& v) { return v.grad(); });
}
}  // namespace ops

Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha, Site site) {
  return call<"rsub", rsub_body>(site, self, other, alpha);
}
Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha, Site site) {
  return pel::rsub(self, new_number(self, other), alpha, site);
}

}  // namespace pel
