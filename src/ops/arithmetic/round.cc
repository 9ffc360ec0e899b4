// The nearest integer, halves to even. Also the nearest multiple of 10^-decimals, with the roundings of the
// scaled number. Integers stay as they are.
#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

// The formula and the power of ten it scales by.
struct Rounding {
  std::size_t formula;
  double power;
};
Rounding rounding_for(const Tensor& self, std::int64_t decimals) {
  if (decimals == 0) return {0, 1};
  PEL_CHECK(is_floating(self.dtype()), DTypeError, "decimals are for floating dtypes, not {}",
            name(self.dtype()));
  return {decimals > 0 ? std::size_t{1} : 2, std::pow(10.0, std::abs(static_cast<double>(decimals)))};
}

Tensor round_body(const Op& op, const Tensor& self, std::int64_t decimals) {
  const auto [formula, power] = rounding_for(self, decimals);
  return run_pointwise(op, {self}, {power}, formula);
}
const Tensor& round_in_place(const Op& op, const Tensor& self, std::int64_t decimals) {
  const auto [formula, power] = rounding_for(self, decimals);
  return run_pointwise_into(op, self, {self}, {power}, formula);
}
const Tensor& round_out_body(const Op& op, const Tensor& out, const Tensor& self, std::int64_t decimals) {
  const auto [formula, power] = rounding_for(self, decimals);
  return run_pointwise_into(op, out, {self}, {power}, formula);
}

}  // namespace

namespace ops {
OpDef define_round() {
  return pointwise<round_body, round_in_place, round_out_body>(
             "round(Tensor self, *, int decimals=0) -> Tensor", 1, 1)
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return is_floating(x.type()) ? round(x) : x; })
      .reference([](auto x) { return std::nearbyint(x); })
      .reference_int([](WideInt x) { return x; })
      .formula([](Term x, Term power) { return is_floating(x.type()) ? round(x * power) / power : x; },
               "decimals")
      .reference([](auto x, auto power) {
        using V = Computed<decltype(x)>;
        return std::nearbyint(V(x) * V(power)) / V(power);
      })
      .reference_int([](WideInt x) { return x; })
      .formula([](Term x, Term power) { return is_floating(x.type()) ? round(x / power) * power : x; },
               "tens")
      .reference([](auto x, auto power) {
        using V = Computed<decltype(x)>;
        return std::nearbyint(V(x) / V(power)) * V(power);
      })
      .reference_int([](WideInt x) { return x; })
      .domain(-1000, 1000)
      .params({100})
      .vjp("self", "", zero_gradient);
}
}  // namespace ops

Tensor round(const Tensor& self, std::int64_t decimals, Site site) {
  return call<"round", round_body>(site, self, decimals);
}
const Tensor& round_(const Tensor& self, std::int64_t decimals, Site site) {
  return call<"round_", round_in_place>(site, self, decimals);
}
const Tensor& round_out(const Tensor& out, const Tensor& self, std::int64_t decimals, Site site) {
  return call<"round.out", round_out_body>(site, out, self, decimals);
}

}  // namespace pel
