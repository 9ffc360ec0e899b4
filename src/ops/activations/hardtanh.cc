// x within [min_val, max_val]. NaN stays.
#include "base/check.h"
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

// The lower limit that the dtype can hold: nothing unsigned lies below zero.
Scalar lower_limit(const Tensor& self, const Scalar& low, const Scalar& high) {
  PEL_CHECK(self.dtype() != kU8 || high.to_int() >= 0, ValueError,
            "the upper limit of unsigned integers is not negative, as {}", to_string(high));
  return self.dtype() == kU8 && low.to_int() < 0 ? Scalar(0) : low;
}

Tensor hardtanh_body(const Op& op, const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  return run_pointwise(op, {self}, {lower_limit(self, min_val, max_val), max_val});
}
const Tensor& hardtanh_in_place(const Op& op, const Tensor& self, const Scalar& min_val,
                                const Scalar& max_val) {
  return run_pointwise_into(op, self, {self}, {lower_limit(self, min_val, max_val), max_val});
}
const Tensor& hardtanh_out_body(const Op& op, const Tensor& out, const Tensor& self, const Scalar& min_val,
                                const Scalar& max_val) {
  return run_pointwise_into(op, out, {self}, {lower_limit(self, min_val, max_val), max_val});
}

}  // namespace

namespace ops {
OpDef define_hardtanh() {
  return pointwise<hardtanh_body, hardtanh_in_place, hardtanh_out_body>(
             "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", 1, 2)
      .computes(kFloating | kIntegral)
      .formula([](Term x, Term low, Term high) { return min(high, max(low, x)); })
      .reference([](auto x, auto low, auto high) { return x < low    ? low
                                                          : x > high ? high
                                                                     : x; })
      .reference_int([](WideInt x, WideInt low, WideInt high) { return x < low    ? low
                                                                       : x > high ? high
                                                                                  : x; })
      .params({2, 5})
      .vjp("self", "result min_val max_val",
           [](const Vjp& v) {
             return inside_gradient(v.grad(), v["result"], v.get<Scalar>("min_val"),
                                    v.get<Scalar>("max_val"));
           })
      .samples([](Sampler& s) { return SampleCalls{{s({3, 4})}, {s({3, 4}), Scalar(-0.5), Scalar(1.5)}}; });
}
}  // namespace ops

Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val, Site site) {
  return call<"hardtanh", hardtanh_body>(site, self, min_val, max_val);
}
const Tensor& hardtanh_(const Tensor& self, const Scalar& min_val, const Scalar& max_val, Site site) {
  return call<"hardtanh_", hardtanh_in_place>(site, self, min_val, max_val);
}
const Tensor& hardtanh_out(const Tensor& out, const Tensor& self, const Scalar& min_val,
                           const Scalar& max_val, Site site) {
  return call<"hardtanh.out", hardtanh_out_body>(site, out, self, min_val, max_val);
}

}  // namespace pel
