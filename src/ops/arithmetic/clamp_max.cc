// self, but not above `max`. NaN if one of them is.
#include "ops/shared/bounds.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

Tensor clamp_max_body(const Op& op, const Tensor& self, const Tensor& max) {
  return run_pointwise(op, {self, fit_bound(max, self.dtype(), BoundSide::Above)});
}
const Tensor& clamp_max_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& max) {
  return run_pointwise_into(op, out, {self, fit_bound(max, self.dtype(), BoundSide::Above)});
}
const Tensor& clamp_max_in_place(const Op& op, const Tensor& self, const Tensor& max) {
  return clamp_max_out_body(op, self, self, max);
}

}  // namespace

namespace ops {
OpDef define_clamp_max() {
  return pointwise<clamp_max_body, clamp_max_in_place, clamp_max_out_body>(
             "clamp_max(Tensor self, Tensor max) -> Tensor", 2, 0)
      .computes(kFloating | kIntegral)
      .formula([](Term x, Term bound) { return min_or_nan(x, bound); })
      .reference([](auto x, auto bound) {
        return x != x || bound != bound ? x + bound : x > bound ? bound : x;
      })
      .reference_int([](WideInt x, WideInt bound) { return x > bound ? bound : x; })
      .vjp("self", "self max", [](const Vjp& v) { return where(le(v["self"], v["max"]), v.grad(), 0); })
      .vjp("max", "self max", [](const Vjp& v) { return where(gt(v["self"], v["max"]), v.grad(), 0); });
}
}  // namespace ops

PEL_DEFINE_BINARY_BY(clamp_max, clamp_max_body, clamp_max_in_place, clamp_max_out_body)

}  // namespace pel
