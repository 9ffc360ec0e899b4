// self, but not below `min` and then not above `max`. NaN if one of them is.
#include "base/check.h"
#include "ops/family_bounds.h"
#include "ops/family_pointwise.h"

namespace pel {
namespace {

using Bound = std::optional<Tensor>;

// Calls run(op, operands) with the op for the bounds given.
template <class Run>
decltype(auto) with_bounds(const Op& clamp, const Tensor& self, const Bound& min, const Bound& max, Run run) {
  PEL_CHECK(min || max, ValueError, "min, max or both must be given");
  const bool promotes = (min && is_floating(min->dtype())) || (max && is_floating(max->dtype()));
  const auto fitted = [&](const Tensor& bound, Side side) {
    return promotes ? bound : fit_bound(bound, self.dtype(), side);
  };
  if (!max) return run(op<"clamp_min">(), {self, fitted(*min, Side::Below)});
  if (!min) return run(op<"clamp_max">(), {self, fitted(*max, Side::Above)});
  return run(clamp, {self, fitted(*min, Side::Below), fitted(*max, Side::Above)});
}

Tensor clamp_body(const Op& op, const Tensor& self, const Bound& min, const Bound& max) {
  return with_bounds(op, self, min, max, [](const Op& chosen, std::initializer_list<Tensor> operands) {
    return run_pointwise(chosen, std::vector<TensorRef>(operands.begin(), operands.end()));
  });
}
const Tensor& clamp_out_body(const Op& op, const Tensor& out, const Tensor& self, const Bound& min,
                             const Bound& max) {
  return with_bounds(
      op, self, min, max, [&](const Op& chosen, std::initializer_list<Tensor> operands) -> const Tensor& {
        return run_pointwise_into(chosen, out, std::vector<TensorRef>(operands.begin(), operands.end()));
      });
}
const Tensor& clamp_in_place(const Op& op, const Tensor& self, const Bound& min, const Bound& max) {
  return clamp_out_body(op, self, self, min, max);
}

Bound number(const Tensor& self, const std::optional<Scalar>& bound) {
  return bound ? Bound(number_beside(self, *bound)) : std::nullopt;
}

}  // namespace

namespace ops {
OpDef define_clamp() {
  return pointwise<clamp_body, clamp_in_place, clamp_out_body>(
             "clamp(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", 3, 0)
      .computes(kFloating | kIntegral)
      .formula([](Term x, Term low, Term high) { return min_or_nan(max_or_nan(x, low), high); })
      .reference([](auto x, auto low, auto high) {
        const auto sum = x + low + high;
        if (x != x || low != low || high != high) return sum;
        return x > high || low > high ? high : x < low ? low : x;
      })
      .reference_int([](WideInt x, WideInt low, WideInt high) {
        return x > high || low > high ? high : x < low ? low : x;
      });
}
}  // namespace ops

Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max,
             Site site) {
  return call<"clamp", clamp_body>(site, self, number(self, min), number(self, max));
}
Tensor clamp(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max,
             Site site) {
  return call<"clamp", clamp_body>(site, self, min, max);
}
const Tensor& clamp_(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max,
                     Site site) {
  return call<"clamp_", clamp_in_place>(site, self, number(self, min), number(self, max));
}
const Tensor& clamp_(const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                     Site site) {
  return call<"clamp_", clamp_in_place>(site, self, min, max);
}
const Tensor& clamp_out(const Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
                        const std::optional<Scalar>& max, Site site) {
  return call<"clamp.out", clamp_out_body>(site, out, self, number(self, min), number(self, max));
}
const Tensor& clamp_out(const Tensor& out, const Tensor& self, const std::optional<Tensor>& min,
                        const std::optional<Tensor>& max, Site site) {
  return call<"clamp.out", clamp_out_body>(site, out, self, min, max);
}

}  // namespace pel
