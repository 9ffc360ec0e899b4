// self / other. Rounded, it is floor_divide or trunc_divide, which keep integers.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

const Op& op_for(const Op& div, std::optional<RoundingMode> rounding_mode) {
  if (!rounding_mode) return div;
  return *rounding_mode == RoundingMode::Floor ? op<"floor_divide">() : op<"trunc_divide">();
}

Tensor div_body(const Op& op, const Tensor& self, const Tensor& other,
                std::optional<RoundingMode> rounding_mode) {
  return run_pointwise(op_for(op, rounding_mode), {self, other});
}
const Tensor& div_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& other,
                           std::optional<RoundingMode> rounding_mode) {
  return run_pointwise_into(op_for(op, rounding_mode), out, {self, other});
}
const Tensor& div_in_place(const Op& op, const Tensor& self, const Tensor& other,
                           std::optional<RoundingMode> rounding_mode) {
  return div_out_body(op, self, self, other, rounding_mode);
}

bool is_rounded(const Vjp& v) { return v.get<std::optional<RoundingMode>>("rounding_mode").has_value(); }

}  // namespace

namespace ops {
OpDef define_div() {
  return pointwise<div_body, div_in_place, div_out_body>(
             "div(Tensor self, Tensor other, *, str? rounding_mode=None) -> Tensor", 2, 0)
      .floating()
      .formula([](Term a, Term b) { return a / b; })
      .reference([](auto a, auto b) { return a / b; })
      .vjp("self", "other rounding_mode",
           [](const Vjp& v) { return is_rounded(v) ? zero_gradient(v) : v.grad() / v["other"]; })
      .vjp("other", "other result rounding_mode",
           [](const Vjp& v) {
             return is_rounded(v) ? zero_gradient(v) : -(v.grad() / v["other"] * v["result"]);
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s({3, 4}), s({4}, 0.5, 2)},
                           {s({3, 4}), s({3, 1}, -2, -0.5), std::string("floor")},
                           {s({3, 4}), s({3, 1}, -2, -0.5), std::string("trunc")}};
      });
}
}  // namespace ops

Tensor div(const Tensor& self, const Tensor& other, std::optional<RoundingMode> rounding_mode, Site site) {
  return call<"div", div_body>(site, self, other, rounding_mode);
}
Tensor div(const Tensor& self, const Scalar& other, std::optional<RoundingMode> rounding_mode, Site site) {
  return pel::div(self, new_number(self, other), rounding_mode, site);
}
Tensor div(const Scalar& self, const Tensor& other, std::optional<RoundingMode> rounding_mode, Site site) {
  return pel::div(new_number(other, self), other, rounding_mode, site);
}
const Tensor& div_(const Tensor& self, const Tensor& other, std::optional<RoundingMode> rounding_mode,
                   Site site) {
  return call<"div_", div_in_place>(site, self, other, rounding_mode);
}
const Tensor& div_(const Tensor& self, const Scalar& other, std::optional<RoundingMode> rounding_mode,
                   Site site) {
  return pel::div_(self, new_number(self, other), rounding_mode, site);
}
const Tensor& div_out(const Tensor& out, const Tensor& self, const Tensor& other,
                      std::optional<RoundingMode> rounding_mode, Site site) {
  return call<"div.out", div_out_body>(site, out, self, other, rounding_mode);
}
const Tensor& div_out(const Tensor& out, const Tensor& self, const Scalar& other,
                      std::optional<RoundingMode> rounding_mode, Site site) {
  return pel::div_out(out, self, new_number(self, other), rounding_mode, site);
}

}  // namespace pel
