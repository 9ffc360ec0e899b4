// self, but not below `min` and then not above `max`. NaN if one of them is.
#include "base/check.h"
#include "ops/shared/bounds.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

using Bound = std::optional<Tensor>;

// Calls run(op, operands) with the op for the bounds given.
template <class Run>
decltype(auto) with_bounds(const Op& clamp, const Tensor& self, const Bound& min, const Bound& max, Run run) {
  PEL_CHECK(min || max, ValueError, "min, max or both must be given");
  const bool promotes = (min && is_floating(min->dtype())) || (max && is_floating(max->dtype()));
  const auto fitted = [&](const Tensor& bound, BoundSide side) {
    return promotes ? bound : fit_bound(bound, self.dtype(), side);
  };
  if (!max) return run(op<"clamp_min">(), {self, fitted(*min, BoundSide::Below)});
  if (!min) return run(op<"clamp_max">(), {self, fitted(*max, BoundSide::Above)});
  return run(clamp, {self, fitted(*min, BoundSide::Below), fitted(*max, BoundSide::Above)});
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
  return bound ? Bound(new_number(self, *bound)) : std::nullopt;
}

// Where the bounds cross, max wins.
std::vector<Tensor> clamp_gradients(const Vjp& v) {
  const Tensor& self = v["self"];
  const auto min = v.get<Bound>("min"), max = v.get<Bound>("max");
  const auto both = [](const Bound& a, const Bound& b) { return a && b ? logical_and(*a, *b) : a ? *a : *b; };
  const auto flows = [&](std::string_view name, const auto& mask) {
    return v.wants(name) ? where(mask(), v.grad(), 0) : Tensor();
  };
  return {flows("self",
                [&] {
                  return both(min ? Bound(ge(self, *min)) : Bound(), max ? Bound(le(self, *max)) : Bound());
                }),
          flows("min", [&] { return both(lt(self, *min), max ? Bound(lt(*min, *max)) : Bound()); }),
          flows("max", [&] { return min ? logical_or(gt(self, *max), lt(*max, *min)) : gt(self, *max); })};
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
      })
      .vjp("self min max", "self min max", clamp_gradients)
      .samples([](Sampler& s) {
        const std::monostate none;
        return SampleCalls{{s({3, 4}), s({4}, -1, -0.5), s({3, 1}, 0.5, 1)},
                           {s({3, 4}), none, s({4})},
                           {s({3, 4}), s({3, 1})},
                           {s({3, 4}), s({}, 0.5, 1), s({}, -1, -0.5)}};
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
