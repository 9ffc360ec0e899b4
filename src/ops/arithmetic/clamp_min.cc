// self, but not below `min`. NaN if one of them is.
#include "ops/shared/bounds.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

Tensor clamp_min_body(const Op& op, const Tensor& self, const Tensor& min) {
  return run_pointwise(op, {self, fit_bound(min, self.dtype(), BoundSide::Below)});
}
const Tensor& clamp_min_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& min) {
  return run_pointwise_into(op, out, {self, fit_bound(min, self.dtype(), BoundSide::Below)});
}
const Tensor& clamp_min_in_place(const Op& op, const Tensor& self, const Tensor& min) {
  return clamp_min_out_body(op, self, self, min);
}

}  // namespace

namespace ops {
OpDef define_clamp_min() {
  return pointwise<clamp_min_body, clamp_min_in_place, clamp_min_out_body>(
             "clamp_min(Tensor self, Tensor min) -> Tensor", 2, 0)
      .computes(kFloating | kIntegral)
      .formula([](Term x, Term bound) { return max_or_nan(x, bound); })
      .reference([](auto x, auto bound) {
        return x != x || bound != bound ? x + bound : x < bound ? bound : x;
      })
      .reference_int([](WideInt x, WideInt bound) { return x < bound ? bound : x; })
      .vjp("self", "self min", [](const Vjp& v) { return where(ge(v["self"], v["min"]), v.grad(), 0); })
      .vjp("min", "self min", [](const Vjp& v) { return where(lt(v["self"], v["min"]), v.grad(), 0); });
}
}  // namespace ops

PEL_DEFINE_BINARY_BY(clamp_min, clamp_min_body, clamp_min_in_place, clamp_min_out_body)

}  // namespace pel
