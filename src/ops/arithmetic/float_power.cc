// self ^ exponent in f64, whatever the operands are.
#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor float_power_body(const Tensor& self, const Tensor& exponent) {
  return pow(to(self, kF64), to(exponent, kF64));
}
const Tensor& float_power_out_body(const Tensor& out, const Tensor& self, const Tensor& exponent) {
  PEL_CHECK(out.dtype() == kF64, DTypeError, "the result is f64, which cannot be written into {}",
            describe(out));
  return pow_out(out, to(self, kF64), to(exponent, kF64));
}
const Tensor& float_power_in_place(const Tensor& self, const Tensor& exponent) {
  return float_power_out_body(self, self, exponent);
}

}  // namespace

namespace ops {
OpDef define_float_power() {
  OpDef def =
      define_op<float_power_body>(OpKind::Composite, "float_power(Tensor self, Tensor exponent) -> Tensor");
  def.forms.push_back(define_op<float_power_in_place>(
      OpKind::Composite, "float_power_(Tensor(a!) self, Tensor exponent) -> Tensor(a!)"));
  def.forms.push_back(define_op<float_power_out_body>(
      OpKind::Composite, "float_power.out(Tensor(a!) out, Tensor self, Tensor exponent) -> Tensor(a!)"));
  return def;
}
}  // namespace ops

PEL_DEFINE_BINARY_BY(float_power, float_power_body, float_power_in_place, float_power_out_body)
Tensor float_power(const Scalar& self, const Tensor& exponent, Site site) {
  return pel::float_power(new_number(exponent, self), exponent, site);
}
const Tensor& float_power_out(const Tensor& out, const Scalar& self, const Tensor& exponent, Site site) {
  return pel::float_power_out(out, new_number(exponent, self), exponent, site);
}

}  // namespace pel
