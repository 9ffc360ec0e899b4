// value where the mask holds, self elsewhere. The result has self's dtype.
#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "tensor/element.h"
#include "tensor/make.h"

namespace pel {
namespace {

// The value in self's dtype: of a fraction, bool keeps whether it is 0.
Scalar fitted(const Tensor& self, const Scalar& value) {
  if (value.is_symbolic()) return value;
  check_fits(self.dtype(), value);
  return self.dtype() == kBool ? Scalar(value.to_bool()) : value;
}

Tensor masked_fill_body(const Op& op, const Tensor& self, const Tensor& mask, const Scalar& value) {
  return run_pointwise(op, {mask, self}, {fitted(self, value)});
}
const Tensor& masked_fill_out_body(const Op& op, const Tensor& out, const Tensor& self, const Tensor& mask,
                                   const Scalar& value) {
  return run_pointwise_into(op, out, {mask, self}, {fitted(self, value)});
}
const Tensor& masked_fill_in_place(const Op& op, const Tensor& self, const Tensor& mask,
                                   const Scalar& value) {
  return masked_fill_out_body(op, self, self, mask, value);
}

// A tensor as the value stays on its device.
Tensor value_as(const Tensor& self, const Tensor& value, const Site& site) {
  if (!self.defined() || !value.defined()) return value;  // refused by `where`
  return as_call("masked_fill", site, [&] {
    PEL_CHECK(value.dim() == 0, ShapeError, "the value is a number or a tensor without axes, not {}",
              describe(value));
    return to(value, self.dtype(), site);
  });
}

}  // namespace

namespace ops {
OpDef define_masked_fill() {
  return pointwise<masked_fill_body, masked_fill_in_place, masked_fill_out_body>(
             "masked_fill(Tensor self, Tensor mask, Scalar value) -> Tensor", 2, 1)
      .takes_condition()
      .swaps_inputs()
      .formula([](Term mask, Term x, Term value) { return select(mask, value, x); })
      .reference([](auto mask, auto x, auto value) { return mask != 0 ? value : x; })
      .reference_int([](WideInt mask, WideInt x, WideInt value) { return mask != 0 ? value : x; })
      .params({3})
      .vjp("self", "mask", [](const Vjp& v) { return masked_fill(v.grad(), v["mask"], 0); })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4}), s.condition({4}), Scalar(3)}}; });
}
}  // namespace ops

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value, Site site) {
  return call<"masked_fill", masked_fill_body>(site, self, mask, value);
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value, Site site) {
  return where(mask, value_as(self, value, site), self, site);
}
const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, const Scalar& value, Site site) {
  return call<"masked_fill_", masked_fill_in_place>(site, self, mask, value);
}
const Tensor& masked_fill_(const Tensor& self, const Tensor& mask, const Tensor& value, Site site) {
  return where_out(self, mask, value_as(self, value, site), self, site);
}
const Tensor& masked_fill_out(const Tensor& out, const Tensor& self, const Tensor& mask, const Scalar& value,
                              Site site) {
  return call<"masked_fill.out", masked_fill_out_body>(site, out, self, mask, value);
}

}  // namespace pel
