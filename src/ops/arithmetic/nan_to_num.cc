// NaN and infinities replaced by numbers: by default by 0 and by the largest of the dtype. Integers stay.
#include <limits>

#include "ops/shared/pointwise.h"

namespace pel {
namespace {

double largest(DType dtype) {
  switch (dtype) {
    case kF64:
      return std::numeric_limits<double>::max();
    case kF16:
      return 65504;
    case kBF16:
      return 0x1.fep127;
    default:
      return std::numeric_limits<float>::max();
  }
}

Tensor nan_to_num_body(const Op& op, const Tensor& self, double nan, std::optional<double> posinf,
                       std::optional<double> neginf) {
  const double most = largest(self.dtype());
  return run_pointwise(op, {self}, {nan, posinf.value_or(most), neginf.value_or(-most)});
}
const Tensor& nan_to_num_in_place(const Op& op, const Tensor& self, double nan, std::optional<double> posinf,
                                  std::optional<double> neginf) {
  const double most = largest(self.dtype());
  return run_pointwise_into(op, self, {self}, {nan, posinf.value_or(most), neginf.value_or(-most)});
}
const Tensor& nan_to_num_out_body(const Op& op, const Tensor& out, const Tensor& self, double nan,
                                  std::optional<double> posinf, std::optional<double> neginf) {
  const double most = largest(self.dtype());
  return run_pointwise_into(op, out, {self}, {nan, posinf.value_or(most), neginf.value_or(-most)});
}

}  // namespace

namespace ops {
OpDef define_nan_to_num() {
  return pointwise<nan_to_num_body, nan_to_num_in_place, nan_to_num_out_body>(
             "nan_to_num(Tensor self, float nan=0, float? posinf=None, float? neginf=None) -> Tensor", 1, 3)
      .formula([](Term x, Term nan, Term posinf, Term neginf) {
        if (!is_floating(x.type())) return x;
        return select(is_nan(x), nan, select(x == HUGE_VAL, posinf, select(x == -HUGE_VAL, neginf, x)));
      })
      .reference([](auto x, auto nan, auto posinf, auto neginf) {
        return std::isnan(x) ? nan : std::isfinite(x) ? x : x > 0 ? posinf : neginf;
      })
      .reference_int([](WideInt x, WideInt, WideInt, WideInt) { return x; })
      .params({1.5, 100, -200})
      .vjp("self", "self", [](const Vjp& v) { return where(isfinite(v["self"]), v.grad(), 0); });
}
}  // namespace ops

Tensor nan_to_num(const Tensor& self, double nan, std::optional<double> posinf, std::optional<double> neginf,
                  Site site) {
  return call<"nan_to_num", nan_to_num_body>(site, self, nan, posinf, neginf);
}
const Tensor& nan_to_num_(const Tensor& self, double nan, std::optional<double> posinf,
                          std::optional<double> neginf, Site site) {
  return call<"nan_to_num_", nan_to_num_in_place>(site, self, nan, posinf, neginf);
}
const Tensor& nan_to_num_out(const Tensor& out, const Tensor& self, double nan, std::optional<double> posinf,
                             std::optional<double> neginf, Site site) {
  return call<"nan_to_num.out", nan_to_num_out_body>(site, out, self, nan, posinf, neginf);
}

}  // namespace pel
