// self * 2^other. With integer exponents rounded once; with others the power may overflow before.
// overflow before.
#include <limits>
#include <numbers>

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

std::size_t formula_for(const Tensor& exponent) { return is_floating(exponent.dtype()) ? 1 : 0; }

Tensor ldexp_body(const Op& op, const Tensor& self, const Tensor& other) {
  return run_pointwise(op, {self, other}, {}, formula_for(other));
}
const Tensor& ldexp_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& other) {
  return run_pointwise_into(op, out, {self, other}, {}, formula_for(other));
}
const Tensor& ldexp_in_place(const Op& op, const Tensor& self, const Tensor& other) {
  return ldexp_out_body(op, self, self, other);
}

}  // namespace

namespace ops {
OpDef define_ldexp() {
  return pointwise<ldexp_body, ldexp_in_place, ldexp_out_body>("ldexp(Tensor self, Tensor other) -> Tensor",
                                                               2, 0)
      .floating()
      .formula([](Term x, Term e) { return ldexp(x, cast(cast(e, kI32), x.type())); })
      .reference([](auto x, auto e) {
        const int whole = e != e ? 0 : e > 9999 ? 9999 : e < -9999 ? -9999 : static_cast<int>(e);
        return std::ldexp(x, whole);
      })
      .formula([](Term x, Term e) { return x * exp2(e); }, "real")
      .reference([](auto x, auto e) {
        using T = decltype(e);
        const T power = std::exp2(e);
        const bool overflows = power > std::numeric_limits<Computed<T>>::max();
        return x * (overflows ? std::numeric_limits<T>::infinity() : power);
      })
      .max_ulp(2)
      .domain(-10, 10)
      .domain(-40, 40)
      .vjp("self", "other", [](const Vjp& v) { return ldexp(v.grad(), v["other"]); })
      .vjp("other", "result", [](const Vjp& v) { return v.grad() * v["result"] * std::numbers::ln2; });
}
}  // namespace ops

PEL_DEFINE_BINARY_BY(ldexp, ldexp_body, ldexp_in_place, ldexp_out_body)

}  // namespace pel
