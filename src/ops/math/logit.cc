// log(x / (1 - x)), the inverse of sigmoid; with eps, of x within [eps, 1 - eps]. NaN outside of [0, 1].
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

// log1p(|2x - 1| / min(x, 1 - x)) with the sign of x - 1/2, where numerator and denominator are exact where
// it counts. A small x is scaled, because its reciprocal may overflow.
Term logit(Term x) {
  const Term small = abs(x) < (x.type() == kF64 ? 0x1p-1000 : 0x1p-100);
  const Term scaled = select(small, fma(x, 0x1p60, 0), x);  // the fma makes 0 of -0
  const Term size = log1p(abs(fma(x, 2, -1)) / min(scaled, 1 - x));
  const Term unscaled = select(small, size + 60 * std::numbers::ln2, size);
  return select(x < 0.5, -unscaled, unscaled);
}

template <class T>
T reference_logit(T x) {
  return x > 0.25 && x < 0.75 ? 2 * std::atanh(2 * x - 1) : std::log(x) - std::log1p(-x);
}

// A negative eps counts as none.
std::size_t formula_for(std::optional<double> eps) { return eps && *eps >= 0 ? 1 : 0; }

Tensor logit_body(const Op& op, const Tensor& self, std::optional<double> eps) {
  return run_pointwise(op, {self}, {eps.value_or(0)}, formula_for(eps));
}
const Tensor& logit_in_place(const Op& op, const Tensor& self, std::optional<double> eps) {
  return run_pointwise_into(op, self, {self}, {eps.value_or(0)}, formula_for(eps));
}
const Tensor& logit_out_body(const Op& op, const Tensor& out, const Tensor& self, std::optional<double> eps) {
  return run_pointwise_into(op, out, {self}, {eps.value_or(0)}, formula_for(eps));
}

}  // namespace

namespace ops {
OpDef define_logit() {
  return pointwise<logit_body, logit_in_place, logit_out_body>(
             "logit(Tensor self, float? eps=None) -> Tensor", 1, 1)
      .floating()
      .formula([](Term x) { return logit(x); })
      .reference([](auto x) { return reference_logit(x); })
      .max_ulp(2)
      .formula([](Term x, Term eps) { return logit(min(1 - eps, max(eps, x))); }, "eps")
      .reference([](auto x, auto eps) {
        return reference_logit(x < eps ? eps : x > 1 - eps ? 1 - eps : x);
      })
      .max_ulp(2)
      .domain(0, 1)
      .params({0.125})
      .vjp("self", "self eps",
           [](const Vjp& v) {
             const Tensor& x = v["self"];
             const Tensor slope = v.grad() / (x * (1 - x));
             const auto eps = v.get<std::optional<double>>("eps");
             return formula_for(eps) == 0 ? slope : where(le(abs(x - 0.5), 0.5 - *eps), slope, 0);
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}, -0.5, 1.5), 0.125}}; });
}
}  // namespace ops

Tensor logit(const Tensor& self, std::optional<double> eps, Site site) {
  return call<"logit", logit_body>(site, self, eps);
}
const Tensor& logit_(const Tensor& self, std::optional<double> eps, Site site) {
  return call<"logit_", logit_in_place>(site, self, eps);
}
const Tensor& logit_out(const Tensor& out, const Tensor& self, std::optional<double> eps, Site site) {
  return call<"logit.out", logit_out_body>(site, out, self, eps);
}

}  // namespace pel
