// x moved towards 0 by lambd, and 0 within it. NaN stays.
#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

void check_lambd(const Scalar& lambd) {
  PEL_CHECK(lambd.to_double() >= 0, ValueError, "lambd must be at least 0, not {}", to_string(lambd));
}

Tensor softshrink_body(const Op& op, const Tensor& self, const Scalar& lambd) {
  check_lambd(lambd);
  return run_pointwise(op, {self}, {lambd});
}
const Tensor& softshrink_out_body(const Op& op, const Tensor& out, const Tensor& self, const Scalar& lambd) {
  check_lambd(lambd);
  return run_pointwise_into(op, out, {self}, {lambd});
}

}  // namespace

namespace ops {
OpDef define_softshrink() {
  return PointwiseDef(define_op<softshrink_body>(OpKind::Kernel,
                                                 "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
                      OpDef(),
                      define_op<softshrink_out_body>(
                          OpKind::Kernel,
                          "softshrink.out(Tensor(a!) out, Tensor self, Scalar lambd=0.5) -> Tensor(a!)"),
                      1, 1)
      .computes(kFloating)
      .formula([](Term x, Term lambd) {
        return select(x > lambd, x - lambd, select(x < -lambd, x + lambd, x * 0));
      })
      .reference([](auto x, auto lambd) {
        return x > lambd ? x - lambd : x < -lambd ? x + lambd : std::isnan(x) ? x : std::copysign(0, x);
      })
      .domain(-2, 2)
      .params({0.5})
      .forms(Forms::Out)
      .vjp("self", "self lambd", shrink_gradient);
}
}  // namespace ops

Tensor softshrink(const Tensor& self, const Scalar& lambd, Site site) {
  return call<"softshrink", softshrink_body>(site, self, lambd);
}
const Tensor& softshrink_out(const Tensor& out, const Tensor& self, const Scalar& lambd, Site site) {
  return call<"softshrink.out", softshrink_out_body>(site, out, self, lambd);
}

}  // namespace pel
