// The nearest integer, halves to even. Also the nearest multiple of 10^-decimals, with the roundings of the
// scaled number. Integers stay as they are.
#include "base/check.h"
#include "ops/family_pointwise.h"

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

// The type that a formula computes in whose reference takes T: every step of it is rounded.
template <class T>
using Stepwise = std::conditional_t<std::is_same_v<T, double>, float, double>;

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
  return PointwiseDef(
             define_op<round_body>(OpKind::Kernel, "round(Tensor self, *, int decimals=0) -> Tensor"),
             define_op<round_in_place>(OpKind::Kernel,
                                       "round_(Tensor(a!) self, *, int decimals=0) -> Tensor(a!)"),
             define_op<round_out_body>(
                 OpKind::Kernel, "round.out(Tensor(a!) out, Tensor self, *, int decimals=0) -> Tensor(a!)"),
             1, 1)
      .computes(kFloating | kIntegral)
      .formula([](Term x) { return is_floating(x.type()) ? round(x) : x; })
      .reference([](auto x) { return std::nearbyint(x); })
      .reference_int([](WideInt x) { return x; })
      .formula([](Term x, Term power) { return is_floating(x.type()) ? round(x * power) / power : x; },
               "decimals")
      .reference([](auto x, auto power) {
        using V = Stepwise<decltype(x)>;
        return std::nearbyint(V(x) * V(power)) / V(power);
      })
      .reference_int([](WideInt x) { return x; })
      .formula([](Term x, Term power) { return is_floating(x.type()) ? round(x / power) * power : x; },
               "tens")
      .reference([](auto x, auto power) {
        using V = Stepwise<decltype(x)>;
        return std::nearbyint(V(x) / V(power)) * V(power);
      })
      .reference_int([](WideInt x) { return x; })
      .domain(-1000, 1000)
      .params({100});
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
