// self where the condition holds, other elsewhere.
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

constexpr auto kPlain = pointwise_body<const Tensor&, const Tensor&, const Tensor&>;
constexpr auto kOut = pointwise_out<const Tensor&, const Tensor&, const Tensor&>;

}  // namespace

namespace ops {
OpDef define_where() {
  return pointwise<const Tensor&, const Tensor&, const Tensor&>(
             "where(Tensor condition, Tensor self, Tensor other) -> Tensor")
      .forms(Forms::Out)
      .takes_condition()
      .formula([](Term condition, Term a, Term b) { return select(condition, a, b); })
      .reference([](auto condition, auto a, auto b) { return condition != 0 ? a : b; })
      .reference_int([](WideInt condition, WideInt a, WideInt b) { return condition != 0 ? a : b; })
      .vjp("self", "condition", [](const Vjp& v) { return where(v["condition"], v.grad(), 0); })
      .vjp("other", "condition", [](const Vjp& v) { return where(v["condition"], 0, v.grad()); })
      .samples([](Sampler& s) { return SampleCalls{{s.condition({3, 1}), s({4}), s({3, 4})}}; });
}
}  // namespace ops

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other, Site site) {
  return call<"where", kPlain>(site, condition, self, other);
}
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other, Site site) {
  return pel::where(condition, self, new_number(condition, other), site);
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other, Site site) {
  return pel::where(condition, new_number(condition, self), other, site);
}
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other, Site site) {
  return pel::where(condition, new_number(condition, self), new_number(condition, other), site);
}
const Tensor& where_out(const Tensor& out, const Tensor& condition, const Tensor& self, const Tensor& other,
                        Site site) {
  return call<"where.out", kOut>(site, out, condition, self, other);
}

}  // namespace pel
