// Written by scripts/write_methods.py from the declarations of the ops.
// x.sum(-1) is sum(x, {-1}): the methods of Tensor that call ops.
// Long because each overload of an op is a method.
#include "pellucid/ops.h"

namespace pel {

Tensor Tensor::sigmoid(Site site) const { return pel::sigmoid(*this, site); }
const Tensor& Tensor::sigmoid_(Site site) const { return pel::sigmoid_(*this, site); }
Tensor Tensor::relu(Site site) const { return pel::relu(*this, site); }
const Tensor& Tensor::relu_(Site site) const { return pel::relu_(*this, site); }
Tensor Tensor::hardshrink(const Scalar& lambd, Site site) const {
  return pel::hardshrink(*this, lambd, site);
}
Tensor Tensor::add(const Tensor& other, const Scalar& alpha, Site site) const {
  return pel::add(*this, other, alpha, site);
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha, Site site) const {
  return pel::add(*this, other, alpha, site);
}
const Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha, Site site) const {
  return pel::add_(*this, other, alpha, site);
}
const Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha, Site site) const {
  return pel::add_(*this, other, alpha, site);
}
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha, Site site) const {
  return pel::sub(*this, other, alpha, site);
}
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha, Site site) const {
  return pel::sub(*this, other, alpha, site);
}
const Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha, Site site) const {
  return pel::sub_(*this, other, alpha, site);
}
const Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha, Site site) const {
  return pel::sub_(*this, other, alpha, site);
}
Tensor Tensor::mul(const Tensor& other, Site site) const { return pel::mul(*this, other, site); }
Tensor Tensor::mul(const Scalar& other, Site site) const { return pel::mul(*this, other, site); }
const Tensor& Tensor::mul_(const Tensor& other, Site site) const { return pel::mul_(*this, other, site); }
const Tensor& Tensor::mul_(const Scalar& other, Site site) const { return pel::mul_(*this, other, site); }
Tensor Tensor::div(const Tensor& other, std::optional<RoundingMode> rounding_mode, Site site) const {
  return pel::div(*this, other, rounding_mode, site);
}
Tensor Tensor::div(const Scalar& other, std::optional<RoundingMode> rounding_mode, Site site) const {
  return pel::div(*this, other, rounding_mode, site);
}
const Tensor& Tensor::div_(const Tensor& other, std::optional<RoundingMode> rounding_mode, Site site) const {
  return pel::div_(*this, other, rounding_mode, site);
}
const Tensor& Tensor::div_(const Scalar& other, std::optional<RoundingMode> rounding_mode, Site site) const {
  return pel::div_(*this, other, rounding_mode, site);
}
Tensor Tensor::floor_divide(const Tensor& other, Site site) const {
  return pel::floor_divide(*this, other, site);
}
Tensor Tensor::floor_divide(const Scalar& other, Site site) const {
  return pel::floor_divide(*this, other, site);
}
const Tensor& Tensor::floor_divide_(const Tensor& other, Site site) const {
  return pel::floor_divide_(*this, other, site);
}
const Tensor& Tensor::floor_divide_(const Scalar& other, Site site) const {
  return pel::floor_divide_(*this, other, site);
}
Tensor Tensor::remainder(const Tensor& other, Site site) const { return pel::remainder(*this, other, site); }
Tensor Tensor::remainder(const Scalar& other, Site site) const { return pel::remainder(*this, other, site); }
const Tensor& Tensor::remainder_(const Tensor& other, Site site) const {
  return pel::remainder_(*this, other, site);
}
const Tensor& Tensor::remainder_(const Scalar& other, Site site) const {
  return pel::remainder_(*this, other, site);
}
Tensor Tensor::fmod(const Tensor& other, Site site) const { return pel::fmod(*this, other, site); }
Tensor Tensor::fmod(const Scalar& other, Site site) const { return pel::fmod(*this, other, site); }
const Tensor& Tensor::fmod_(const Tensor& other, Site site) const { return pel::fmod_(*this, other, site); }
const Tensor& Tensor::fmod_(const Scalar& other, Site site) const { return pel::fmod_(*this, other, site); }
Tensor Tensor::pow(const Tensor& other, Site site) const { return pel::pow(*this, other, site); }
Tensor Tensor::pow(const Scalar& other, Site site) const { return pel::pow(*this, other, site); }
const Tensor& Tensor::pow_(const Tensor& other, Site site) const { return pel::pow_(*this, other, site); }
const Tensor& Tensor::pow_(const Scalar& other, Site site) const { return pel::pow_(*this, other, site); }
Tensor Tensor::float_power(const Tensor& other, Site site) const {
  return pel::float_power(*this, other, site);
}
Tensor Tensor::float_power(const Scalar& other, Site site) const {
  return pel::float_power(*this, other, site);
}
const Tensor& Tensor::float_power_(const Tensor& other, Site site) const {
  return pel::float_power_(*this, other, site);
}
const Tensor& Tensor::float_power_(const Scalar& other, Site site) const {
  return pel::float_power_(*this, other, site);
}
Tensor Tensor::maximum(const Tensor& other, Site site) const { return pel::maximum(*this, other, site); }
Tensor Tensor::maximum(const Scalar& other, Site site) const { return pel::maximum(*this, other, site); }
Tensor Tensor::minimum(const Tensor& other, Site site) const { return pel::minimum(*this, other, site); }
Tensor Tensor::minimum(const Scalar& other, Site site) const { return pel::minimum(*this, other, site); }
Tensor Tensor::fmax(const Tensor& other, Site site) const { return pel::fmax(*this, other, site); }
Tensor Tensor::fmax(const Scalar& other, Site site) const { return pel::fmax(*this, other, site); }
Tensor Tensor::fmin(const Tensor& other, Site site) const { return pel::fmin(*this, other, site); }
Tensor Tensor::fmin(const Scalar& other, Site site) const { return pel::fmin(*this, other, site); }
Tensor Tensor::hypot(const Tensor& other, Site site) const { return pel::hypot(*this, other, site); }
Tensor Tensor::hypot(const Scalar& other, Site site) const { return pel::hypot(*this, other, site); }
const Tensor& Tensor::hypot_(const Tensor& other, Site site) const { return pel::hypot_(*this, other, site); }
const Tensor& Tensor::hypot_(const Scalar& other, Site site) const { return pel::hypot_(*this, other, site); }
Tensor Tensor::copysign(const Tensor& other, Site site) const { return pel::copysign(*this, other, site); }
Tensor Tensor::copysign(const Scalar& other, Site site) const { return pel::copysign(*this, other, site); }
const Tensor& Tensor::copysign_(const Tensor& other, Site site) const {
  return pel::copysign_(*this, other, site);
}
const Tensor& Tensor::copysign_(const Scalar& other, Site site) const {
  return pel::copysign_(*this, other, site);
}
Tensor Tensor::nextafter(const Tensor& other, Site site) const { return pel::nextafter(*this, other, site); }
Tensor Tensor::nextafter(const Scalar& other, Site site) const { return pel::nextafter(*this, other, site); }
const Tensor& Tensor::nextafter_(const Tensor& other, Site site) const {
  return pel::nextafter_(*this, other, site);
}
const Tensor& Tensor::nextafter_(const Scalar& other, Site site) const {
  return pel::nextafter_(*this, other, site);
}
Tensor Tensor::ldexp(const Tensor& other, Site site) const { return pel::ldexp(*this, other, site); }
Tensor Tensor::ldexp(const Scalar& other, Site site) const { return pel::ldexp(*this, other, site); }
const Tensor& Tensor::ldexp_(const Tensor& other, Site site) const { return pel::ldexp_(*this, other, site); }
const Tensor& Tensor::ldexp_(const Scalar& other, Site site) const { return pel::ldexp_(*this, other, site); }
Tensor Tensor::heaviside(const Tensor& other, Site site) const { return pel::heaviside(*this, other, site); }
Tensor Tensor::heaviside(const Scalar& other, Site site) const { return pel::heaviside(*this, other, site); }
const Tensor& Tensor::heaviside_(const Tensor& other, Site site) const {
  return pel::heaviside_(*this, other, site);
}
const Tensor& Tensor::heaviside_(const Scalar& other, Site site) const {
  return pel::heaviside_(*this, other, site);
}
Tensor Tensor::clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max, Site site) const {
  return pel::clamp(*this, min, max, site);
}
Tensor Tensor::clamp(const std::optional<Tensor>& min, Site site) const {
  return pel::clamp(*this, min, std::nullopt, site);
}
Tensor Tensor::clamp(const std::optional<Tensor>& min, const std::optional<Tensor>& max, Site site) const {
  return pel::clamp(*this, min, max, site);
}
const Tensor& Tensor::clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max,
                             Site site) const {
  return pel::clamp_(*this, min, max, site);
}
const Tensor& Tensor::clamp_(const std::optional<Tensor>& min, Site site) const {
  return pel::clamp_(*this, min, std::nullopt, site);
}
const Tensor& Tensor::clamp_(const std::optional<Tensor>& min, const std::optional<Tensor>& max,
                             Site site) const {
  return pel::clamp_(*this, min, max, site);
}
Tensor Tensor::clamp_min(const Tensor& other, Site site) const { return pel::clamp_min(*this, other, site); }
Tensor Tensor::clamp_min(const Scalar& other, Site site) const { return pel::clamp_min(*this, other, site); }
const Tensor& Tensor::clamp_min_(const Tensor& other, Site site) const {
  return pel::clamp_min_(*this, other, site);
}
const Tensor& Tensor::clamp_min_(const Scalar& other, Site site) const {
  return pel::clamp_min_(*this, other, site);
}
Tensor Tensor::clamp_max(const Tensor& other, Site site) const { return pel::clamp_max(*this, other, site); }
Tensor Tensor::clamp_max(const Scalar& other, Site site) const { return pel::clamp_max(*this, other, site); }
const Tensor& Tensor::clamp_max_(const Tensor& other, Site site) const {
  return pel::clamp_max_(*this, other, site);
}
const Tensor& Tensor::clamp_max_(const Scalar& other, Site site) const {
  return pel::clamp_max_(*this, other, site);
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight, Site site) const {
  return pel::lerp(*this, end, weight, site);
}
Tensor Tensor::lerp(const Tensor& end, const Scalar& weight, Site site) const {
  return pel::lerp(*this, end, weight, site);
}
const Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight, Site site) const {
  return pel::lerp_(*this, end, weight, site);
}
const Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight, Site site) const {
  return pel::lerp_(*this, end, weight, site);
}
Tensor Tensor::addcmul(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, Site site) const {
  return pel::addcmul(*this, tensor1, tensor2, value, site);
}
const Tensor& Tensor::addcmul_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                               Site site) const {
  return pel::addcmul_(*this, tensor1, tensor2, value, site);
}
Tensor Tensor::addcdiv(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, Site site) const {
  return pel::addcdiv(*this, tensor1, tensor2, value, site);
}
const Tensor& Tensor::addcdiv_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value,
                               Site site) const {
  return pel::addcdiv_(*this, tensor1, tensor2, value, site);
}
Tensor Tensor::neg(Site site) const { return pel::neg(*this, site); }
const Tensor& Tensor::neg_(Site site) const { return pel::neg_(*this, site); }
Tensor Tensor::abs(Site site) const { return pel::abs(*this, site); }
const Tensor& Tensor::abs_(Site site) const { return pel::abs_(*this, site); }
Tensor Tensor::sign(Site site) const { return pel::sign(*this, site); }
const Tensor& Tensor::sign_(Site site) const { return pel::sign_(*this, site); }
Tensor Tensor::sgn(Site site) const { return pel::sgn(*this, site); }
const Tensor& Tensor::sgn_(Site site) const { return pel::sgn_(*this, site); }
Tensor Tensor::square(Site site) const { return pel::square(*this, site); }
const Tensor& Tensor::square_(Site site) const { return pel::square_(*this, site); }
Tensor Tensor::sqrt(Site site) const { return pel::sqrt(*this, site); }
const Tensor& Tensor::sqrt_(Site site) const { return pel::sqrt_(*this, site); }
Tensor Tensor::rsqrt(Site site) const { return pel::rsqrt(*this, site); }
const Tensor& Tensor::rsqrt_(Site site) const { return pel::rsqrt_(*this, site); }
Tensor Tensor::reciprocal(Site site) const { return pel::reciprocal(*this, site); }
const Tensor& Tensor::reciprocal_(Site site) const { return pel::reciprocal_(*this, site); }
Tensor Tensor::floor(Site site) const { return pel::floor(*this, site); }
const Tensor& Tensor::floor_(Site site) const { return pel::floor_(*this, site); }
Tensor Tensor::ceil(Site site) const { return pel::ceil(*this, site); }
const Tensor& Tensor::ceil_(Site site) const { return pel::ceil_(*this, site); }
Tensor Tensor::trunc(Site site) const { return pel::trunc(*this, site); }
const Tensor& Tensor::trunc_(Site site) const { return pel::trunc_(*this, site); }
Tensor Tensor::frac(Site site) const { return pel::frac(*this, site); }
const Tensor& Tensor::frac_(Site site) const { return pel::frac_(*this, site); }
Tensor Tensor::round(std::int64_t decimals, Site site) const { return pel::round(*this, decimals, site); }
const Tensor& Tensor::round_(std::int64_t decimals, Site site) const {
  return pel::round_(*this, decimals, site);
}
Tensor Tensor::nan_to_num(double nan, std::optional<double> posinf, std::optional<double> neginf,
                          Site site) const {
  return pel::nan_to_num(*this, nan, posinf, neginf, site);
}
const Tensor& Tensor::nan_to_num_(double nan, std::optional<double> posinf, std::optional<double> neginf,
                                  Site site) const {
  return pel::nan_to_num_(*this, nan, posinf, neginf, site);
}
Tensor Tensor::eq(const Tensor& other, Site site) const { return pel::eq(*this, other, site); }
Tensor Tensor::eq(const Scalar& other, Site site) const { return pel::eq(*this, other, site); }
const Tensor& Tensor::eq_(const Tensor& other, Site site) const { return pel::eq_(*this, other, site); }
const Tensor& Tensor::eq_(const Scalar& other, Site site) const { return pel::eq_(*this, other, site); }
Tensor Tensor::ne(const Tensor& other, Site site) const { return pel::ne(*this, other, site); }
Tensor Tensor::ne(const Scalar& other, Site site) const { return pel::ne(*this, other, site); }
const Tensor& Tensor::ne_(const Tensor& other, Site site) const { return pel::ne_(*this, other, site); }
const Tensor& Tensor::ne_(const Scalar& other, Site site) const { return pel::ne_(*this, other, site); }
Tensor Tensor::lt(const Tensor& other, Site site) const { return pel::lt(*this, other, site); }
Tensor Tensor::lt(const Scalar& other, Site site) const { return pel::lt(*this, other, site); }
const Tensor& Tensor::lt_(const Tensor& other, Site site) const { return pel::lt_(*this, other, site); }
const Tensor& Tensor::lt_(const Scalar& other, Site site) const { return pel::lt_(*this, other, site); }
Tensor Tensor::le(const Tensor& other, Site site) const { return pel::le(*this, other, site); }
Tensor Tensor::le(const Scalar& other, Site site) const { return pel::le(*this, other, site); }
const Tensor& Tensor::le_(const Tensor& other, Site site) const { return pel::le_(*this, other, site); }
const Tensor& Tensor::le_(const Scalar& other, Site site) const { return pel::le_(*this, other, site); }
Tensor Tensor::gt(const Tensor& other, Site site) const { return pel::gt(*this, other, site); }
Tensor Tensor::gt(const Scalar& other, Site site) const { return pel::gt(*this, other, site); }
const Tensor& Tensor::gt_(const Tensor& other, Site site) const { return pel::gt_(*this, other, site); }
const Tensor& Tensor::gt_(const Scalar& other, Site site) const { return pel::gt_(*this, other, site); }
Tensor Tensor::ge(const Tensor& other, Site site) const { return pel::ge(*this, other, site); }
Tensor Tensor::ge(const Scalar& other, Site site) const { return pel::ge(*this, other, site); }
const Tensor& Tensor::ge_(const Tensor& other, Site site) const { return pel::ge_(*this, other, site); }
const Tensor& Tensor::ge_(const Scalar& other, Site site) const { return pel::ge_(*this, other, site); }
Tensor Tensor::logical_and(const Tensor& other, Site site) const {
  return pel::logical_and(*this, other, site);
}
Tensor Tensor::logical_and(const Scalar& other, Site site) const {
  return pel::logical_and(*this, other, site);
}
const Tensor& Tensor::logical_and_(const Tensor& other, Site site) const {
  return pel::logical_and_(*this, other, site);
}
const Tensor& Tensor::logical_and_(const Scalar& other, Site site) const {
  return pel::logical_and_(*this, other, site);
}
Tensor Tensor::logical_or(const Tensor& other, Site site) const {
  return pel::logical_or(*this, other, site);
}
Tensor Tensor::logical_or(const Scalar& other, Site site) const {
  return pel::logical_or(*this, other, site);
}
const Tensor& Tensor::logical_or_(const Tensor& other, Site site) const {
  return pel::logical_or_(*this, other, site);
}
const Tensor& Tensor::logical_or_(const Scalar& other, Site site) const {
  return pel::logical_or_(*this, other, site);
}
Tensor Tensor::logical_xor(const Tensor& other, Site site) const {
  return pel::logical_xor(*this, other, site);
}
Tensor Tensor::logical_xor(const Scalar& other, Site site) const {
  return pel::logical_xor(*this, other, site);
}
const Tensor& Tensor::logical_xor_(const Tensor& other, Site site) const {
  return pel::logical_xor_(*this, other, site);
}
const Tensor& Tensor::logical_xor_(const Scalar& other, Site site) const {
  return pel::logical_xor_(*this, other, site);
}
Tensor Tensor::logical_not(Site site) const { return pel::logical_not(*this, site); }
const Tensor& Tensor::logical_not_(Site site) const { return pel::logical_not_(*this, site); }
Tensor Tensor::bitwise_and(const Tensor& other, Site site) const {
  return pel::bitwise_and(*this, other, site);
}
Tensor Tensor::bitwise_and(const Scalar& other, Site site) const {
  return pel::bitwise_and(*this, other, site);
}
const Tensor& Tensor::bitwise_and_(const Tensor& other, Site site) const {
  return pel::bitwise_and_(*this, other, site);
}
const Tensor& Tensor::bitwise_and_(const Scalar& other, Site site) const {
  return pel::bitwise_and_(*this, other, site);
}
Tensor Tensor::bitwise_or(const Tensor& other, Site site) const {
  return pel::bitwise_or(*this, other, site);
}
Tensor Tensor::bitwise_or(const Scalar& other, Site site) const {
  return pel::bitwise_or(*this, other, site);
}
const Tensor& Tensor::bitwise_or_(const Tensor& other, Site site) const {
  return pel::bitwise_or_(*this, other, site);
}
const Tensor& Tensor::bitwise_or_(const Scalar& other, Site site) const {
  return pel::bitwise_or_(*this, other, site);
}
Tensor Tensor::bitwise_xor(const Tensor& other, Site site) const {
  return pel::bitwise_xor(*this, other, site);
}
Tensor Tensor::bitwise_xor(const Scalar& other, Site site) const {
  return pel::bitwise_xor(*this, other, site);
}
const Tensor& Tensor::bitwise_xor_(const Tensor& other, Site site) const {
  return pel::bitwise_xor_(*this, other, site);
}
const Tensor& Tensor::bitwise_xor_(const Scalar& other, Site site) const {
  return pel::bitwise_xor_(*this, other, site);
}
Tensor Tensor::bitwise_not(Site site) const { return pel::bitwise_not(*this, site); }
const Tensor& Tensor::bitwise_not_(Site site) const { return pel::bitwise_not_(*this, site); }
Tensor Tensor::bitwise_left_shift(const Tensor& other, Site site) const {
  return pel::bitwise_left_shift(*this, other, site);
}
Tensor Tensor::bitwise_left_shift(const Scalar& other, Site site) const {
  return pel::bitwise_left_shift(*this, other, site);
}
const Tensor& Tensor::bitwise_left_shift_(const Tensor& other, Site site) const {
  return pel::bitwise_left_shift_(*this, other, site);
}
const Tensor& Tensor::bitwise_left_shift_(const Scalar& other, Site site) const {
  return pel::bitwise_left_shift_(*this, other, site);
}
Tensor Tensor::bitwise_right_shift(const Tensor& other, Site site) const {
  return pel::bitwise_right_shift(*this, other, site);
}
Tensor Tensor::bitwise_right_shift(const Scalar& other, Site site) const {
  return pel::bitwise_right_shift(*this, other, site);
}
const Tensor& Tensor::bitwise_right_shift_(const Tensor& other, Site site) const {
  return pel::bitwise_right_shift_(*this, other, site);
}
const Tensor& Tensor::bitwise_right_shift_(const Scalar& other, Site site) const {
  return pel::bitwise_right_shift_(*this, other, site);
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other, Site site) const {
  return pel::where(condition, *this, other, site);
}
Tensor Tensor::where(const Tensor& condition, const Scalar& other, Site site) const {
  return pel::where(condition, *this, other, site);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value, Site site) const {
  return pel::masked_fill(*this, mask, value, site);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value, Site site) const {
  return pel::masked_fill(*this, mask, value, site);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value, Site site) const {
  return pel::masked_fill_(*this, mask, value, site);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value, Site site) const {
  return pel::masked_fill_(*this, mask, value, site);
}
Tensor Tensor::isnan(Site site) const { return pel::isnan(*this, site); }
Tensor Tensor::isinf(Site site) const { return pel::isinf(*this, site); }
Tensor Tensor::isfinite(Site site) const { return pel::isfinite(*this, site); }
Tensor Tensor::isposinf(Site site) const { return pel::isposinf(*this, site); }
Tensor Tensor::isneginf(Site site) const { return pel::isneginf(*this, site); }
Tensor Tensor::signbit(Site site) const { return pel::signbit(*this, site); }
Tensor Tensor::index_select(std::int64_t axis, const Tensor& index, Site site) const {
  return pel::index_select(*this, axis, index, site);
}
Tensor Tensor::gather(std::int64_t axis, const Tensor& index, Site site) const {
  return pel::gather(*this, axis, index, site);
}
Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<std::int64_t> axis, Site site) const {
  return pel::take_along_dim(*this, indices, axis, site);
}
Tensor Tensor::index(ArrayView<Tensor> indices, Axes axes, Site site) const {
  return pel::index(*this, indices, axes, site);
}
Tensor Tensor::masked_select(const Tensor& mask, Site site) const {
  return pel::masked_select(*this, mask, site);
}
Tensor Tensor::nonzero(Site site) const { return pel::nonzero(*this, site); }
Tensor Tensor::scatter(std::int64_t axis, const Tensor& index, const Tensor& src,
                       std::optional<ScatterMode> reduce, Site site) const {
  return pel::scatter(*this, axis, index, src, reduce, site);
}
Tensor Tensor::scatter(std::int64_t axis, const Tensor& index, const Scalar& value,
                       std::optional<ScatterMode> reduce, Site site) const {
  return pel::scatter(*this, axis, index, value, reduce, site);
}
const Tensor& Tensor::scatter_(std::int64_t axis, const Tensor& index, const Tensor& src,
                               std::optional<ScatterMode> reduce, Site site) const {
  return pel::scatter_(*this, axis, index, src, reduce, site);
}
const Tensor& Tensor::scatter_(std::int64_t axis, const Tensor& index, const Scalar& value,
                               std::optional<ScatterMode> reduce, Site site) const {
  return pel::scatter_(*this, axis, index, value, reduce, site);
}
Tensor Tensor::scatter_add(std::int64_t axis, const Tensor& index, const Tensor& src, Site site) const {
  return pel::scatter_add(*this, axis, index, src, site);
}
const Tensor& Tensor::scatter_add_(std::int64_t axis, const Tensor& index, const Tensor& src,
                                   Site site) const {
  return pel::scatter_add_(*this, axis, index, src, site);
}
Tensor Tensor::scatter_reduce(std::int64_t axis, const Tensor& index, const Tensor& src, ScatterReduce reduce,
                              IncludeSelf include_self, Site site) const {
  return pel::scatter_reduce(*this, axis, index, src, reduce, include_self, site);
}
const Tensor& Tensor::scatter_reduce_(std::int64_t axis, const Tensor& index, const Tensor& src,
                                      ScatterReduce reduce, IncludeSelf include_self, Site site) const {
  return pel::scatter_reduce_(*this, axis, index, src, reduce, include_self, site);
}
Tensor Tensor::select_scatter(const Tensor& src, std::int64_t axis, Dim index, Site site) const {
  return pel::select_scatter(*this, src, axis, index, site);
}
Tensor Tensor::slice_scatter(const Tensor& src, std::int64_t axis, std::optional<Dim> start,
                             std::optional<Dim> end, Dim step, Site site) const {
  return pel::slice_scatter(*this, src, axis, start, end, step, site);
}
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source, Site site) const {
  return pel::masked_scatter(*this, mask, source, site);
}
Tensor Tensor::index_put(ArrayView<Tensor> indices, const Tensor& values, Accumulate accumulate, Axes axes,
                         Site site) const {
  return pel::index_put(*this, indices, values, accumulate, axes, site);
}
const Tensor& Tensor::index_put_(ArrayView<Tensor> indices, const Tensor& values, Accumulate accumulate,
                                 Axes axes, Site site) const {
  return pel::index_put_(*this, indices, values, accumulate, axes, site);
}
Tensor Tensor::repeat(Dims repeats, Site site) const { return pel::repeat(*this, repeats, site); }
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> axis,
                                 std::optional<Dim> output_size, Site site) const {
  return pel::repeat_interleave(*this, repeats, axis, output_size, site);
}
Tensor Tensor::repeat_interleave(Dim repeats, std::optional<std::int64_t> axis, Site site) const {
  return pel::repeat_interleave(*this, repeats, axis, site);
}
Tensor Tensor::flip(Axes axes, Site site) const { return pel::flip(*this, axes, site); }
Tensor Tensor::roll(Ints shifts, Axes axes, Site site) const { return pel::roll(*this, shifts, axes, site); }
Tensor Tensor::tril(std::int64_t diagonal, Site site) const { return pel::tril(*this, diagonal, site); }
Tensor Tensor::triu(std::int64_t diagonal, Site site) const { return pel::triu(*this, diagonal, site); }
const Tensor& Tensor::tril_(std::int64_t diagonal, Site site) const {
  return pel::tril_(*this, diagonal, site);
}
const Tensor& Tensor::triu_(std::int64_t diagonal, Site site) const {
  return pel::triu_(*this, diagonal, site);
}
Tensor Tensor::mm(const Tensor& mat2, Site site) const { return pel::mm(*this, mat2, site); }
Tensor Tensor::bmm(const Tensor& mat2, Site site) const { return pel::bmm(*this, mat2, site); }
Tensor Tensor::addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
                     Site site) const {
  return pel::addmm(*this, mat1, mat2, beta, alpha, site);
}
Tensor Tensor::baddbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha,
                       Site site) const {
  return pel::baddbmm(*this, batch1, batch2, beta, alpha, site);
}
Tensor Tensor::mv(const Tensor& vec, Site site) const { return pel::mv(*this, vec, site); }
Tensor Tensor::dot(const Tensor& tensor, Site site) const { return pel::dot(*this, tensor, site); }
Tensor Tensor::outer(const Tensor& vec2, Site site) const { return pel::outer(*this, vec2, site); }
Tensor Tensor::matmul(const Tensor& other, Site site) const { return pel::matmul(*this, other, site); }
Tensor Tensor::atan2(const Tensor& other, Site site) const { return pel::atan2(*this, other, site); }
Tensor Tensor::atan2(const Scalar& other, Site site) const { return pel::atan2(*this, other, site); }
const Tensor& Tensor::atan2_(const Tensor& other, Site site) const { return pel::atan2_(*this, other, site); }
const Tensor& Tensor::atan2_(const Scalar& other, Site site) const { return pel::atan2_(*this, other, site); }
Tensor Tensor::logaddexp(const Tensor& other, Site site) const { return pel::logaddexp(*this, other, site); }
Tensor Tensor::logaddexp(const Scalar& other, Site site) const { return pel::logaddexp(*this, other, site); }
Tensor Tensor::logaddexp2(const Tensor& other, Site site) const {
  return pel::logaddexp2(*this, other, site);
}
Tensor Tensor::logaddexp2(const Scalar& other, Site site) const {
  return pel::logaddexp2(*this, other, site);
}
Tensor Tensor::xlogy(const Tensor& other, Site site) const { return pel::xlogy(*this, other, site); }
Tensor Tensor::xlogy(const Scalar& other, Site site) const { return pel::xlogy(*this, other, site); }
const Tensor& Tensor::xlogy_(const Tensor& other, Site site) const { return pel::xlogy_(*this, other, site); }
const Tensor& Tensor::xlogy_(const Scalar& other, Site site) const { return pel::xlogy_(*this, other, site); }
Tensor Tensor::exp(Site site) const { return pel::exp(*this, site); }
const Tensor& Tensor::exp_(Site site) const { return pel::exp_(*this, site); }
Tensor Tensor::exp2(Site site) const { return pel::exp2(*this, site); }
const Tensor& Tensor::exp2_(Site site) const { return pel::exp2_(*this, site); }
Tensor Tensor::expm1(Site site) const { return pel::expm1(*this, site); }
const Tensor& Tensor::expm1_(Site site) const { return pel::expm1_(*this, site); }
Tensor Tensor::log(Site site) const { return pel::log(*this, site); }
const Tensor& Tensor::log_(Site site) const { return pel::log_(*this, site); }
Tensor Tensor::log2(Site site) const { return pel::log2(*this, site); }
const Tensor& Tensor::log2_(Site site) const { return pel::log2_(*this, site); }
Tensor Tensor::log10(Site site) const { return pel::log10(*this, site); }
const Tensor& Tensor::log10_(Site site) const { return pel::log10_(*this, site); }
Tensor Tensor::log1p(Site site) const { return pel::log1p(*this, site); }
const Tensor& Tensor::log1p_(Site site) const { return pel::log1p_(*this, site); }
Tensor Tensor::sin(Site site) const { return pel::sin(*this, site); }
const Tensor& Tensor::sin_(Site site) const { return pel::sin_(*this, site); }
Tensor Tensor::cos(Site site) const { return pel::cos(*this, site); }
const Tensor& Tensor::cos_(Site site) const { return pel::cos_(*this, site); }
Tensor Tensor::tan(Site site) const { return pel::tan(*this, site); }
const Tensor& Tensor::tan_(Site site) const { return pel::tan_(*this, site); }
Tensor Tensor::asin(Site site) const { return pel::asin(*this, site); }
const Tensor& Tensor::asin_(Site site) const { return pel::asin_(*this, site); }
Tensor Tensor::acos(Site site) const { return pel::acos(*this, site); }
const Tensor& Tensor::acos_(Site site) const { return pel::acos_(*this, site); }
Tensor Tensor::atan(Site site) const { return pel::atan(*this, site); }
const Tensor& Tensor::atan_(Site site) const { return pel::atan_(*this, site); }
Tensor Tensor::sinc(Site site) const { return pel::sinc(*this, site); }
const Tensor& Tensor::sinc_(Site site) const { return pel::sinc_(*this, site); }
Tensor Tensor::deg2rad(Site site) const { return pel::deg2rad(*this, site); }
const Tensor& Tensor::deg2rad_(Site site) const { return pel::deg2rad_(*this, site); }
Tensor Tensor::rad2deg(Site site) const { return pel::rad2deg(*this, site); }
const Tensor& Tensor::rad2deg_(Site site) const { return pel::rad2deg_(*this, site); }
Tensor Tensor::sinh(Site site) const { return pel::sinh(*this, site); }
const Tensor& Tensor::sinh_(Site site) const { return pel::sinh_(*this, site); }
Tensor Tensor::cosh(Site site) const { return pel::cosh(*this, site); }
const Tensor& Tensor::cosh_(Site site) const { return pel::cosh_(*this, site); }
Tensor Tensor::tanh(Site site) const { return pel::tanh(*this, site); }
const Tensor& Tensor::tanh_(Site site) const { return pel::tanh_(*this, site); }
Tensor Tensor::asinh(Site site) const { return pel::asinh(*this, site); }
const Tensor& Tensor::asinh_(Site site) const { return pel::asinh_(*this, site); }
Tensor Tensor::acosh(Site site) const { return pel::acosh(*this, site); }
const Tensor& Tensor::acosh_(Site site) const { return pel::acosh_(*this, site); }
Tensor Tensor::atanh(Site site) const { return pel::atanh(*this, site); }
const Tensor& Tensor::atanh_(Site site) const { return pel::atanh_(*this, site); }
Tensor Tensor::erf(Site site) const { return pel::erf(*this, site); }
const Tensor& Tensor::erf_(Site site) const { return pel::erf_(*this, site); }
Tensor Tensor::erfc(Site site) const { return pel::erfc(*this, site); }
const Tensor& Tensor::erfc_(Site site) const { return pel::erfc_(*this, site); }
Tensor Tensor::erfinv(Site site) const { return pel::erfinv(*this, site); }
const Tensor& Tensor::erfinv_(Site site) const { return pel::erfinv_(*this, site); }
Tensor Tensor::logit(std::optional<double> eps, Site site) const { return pel::logit(*this, eps, site); }
const Tensor& Tensor::logit_(std::optional<double> eps, Site site) const {
  return pel::logit_(*this, eps, site);
}
Tensor Tensor::softmax(std::int64_t axis, std::optional<DType> dtype, Site site) const {
  return pel::softmax(*this, axis, dtype, site);
}
Tensor Tensor::log_softmax(std::int64_t axis, std::optional<DType> dtype, Site site) const {
  return pel::log_softmax(*this, axis, dtype, site);
}
Tensor Tensor::bernoulli(Generator& generator, Site site) const {
  return pel::bernoulli(*this, generator, site);
}
Tensor Tensor::bernoulli(double p, Generator& generator, Site site) const {
  return pel::bernoulli(*this, p, generator, site);
}
Tensor Tensor::multinomial(Dim num_samples, Replacement replacement, Generator& generator, Site site) const {
  return pel::multinomial(*this, num_samples, replacement, generator, site);
}
const Tensor& Tensor::uniform_(double from, double to, Generator& generator, Site site) const {
  return pel::uniform_(*this, from, to, generator, site);
}
const Tensor& Tensor::normal_(double mean, double std, Generator& generator, Site site) const {
  return pel::normal_(*this, mean, std, generator, site);
}
const Tensor& Tensor::exponential_(double lambd, Generator& generator, Site site) const {
  return pel::exponential_(*this, lambd, generator, site);
}
const Tensor& Tensor::bernoulli_(double p, Generator& generator, Site site) const {
  return pel::bernoulli_(*this, p, generator, site);
}
Tensor Tensor::sum(Axes axes, KeepDims keepdim, std::optional<DType> dtype, Site site) const {
  return pel::sum(*this, axes, keepdim, dtype, site);
}
Tensor Tensor::prod(std::optional<std::int64_t> axis, KeepDims keepdim, std::optional<DType> dtype,
                    Site site) const {
  return pel::prod(*this, axis, keepdim, dtype, site);
}
Tensor Tensor::count_nonzero(Axes axes, Site site) const { return pel::count_nonzero(*this, axes, site); }
Tensor Tensor::mean(Axes axes, KeepDims keepdim, std::optional<DType> dtype, Site site) const {
  return pel::mean(*this, axes, keepdim, dtype, site);
}
Tensor Tensor::amax(Axes axes, KeepDims keepdim, Site site) const {
  return pel::amax(*this, axes, keepdim, site);
}
Tensor Tensor::amin(Axes axes, KeepDims keepdim, Site site) const {
  return pel::amin(*this, axes, keepdim, site);
}
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<std::int64_t> axis, KeepDims keepdim,
                                           Site site) const {
  return pel::aminmax(*this, axis, keepdim, site);
}
Tensor Tensor::argmax(std::optional<std::int64_t> axis, KeepDims keepdim, Site site) const {
  return pel::argmax(*this, axis, keepdim, site);
}
Tensor Tensor::argmin(std::optional<std::int64_t> axis, KeepDims keepdim, Site site) const {
  return pel::argmin(*this, axis, keepdim, site);
}
std::tuple<Tensor, Tensor> Tensor::max(std::int64_t axis, KeepDims keepdim, Site site) const {
  return pel::max(*this, axis, keepdim, site);
}
std::tuple<Tensor, Tensor> Tensor::min(std::int64_t axis, KeepDims keepdim, Site site) const {
  return pel::min(*this, axis, keepdim, site);
}
Tensor Tensor::any(Axes axes, KeepDims keepdim, Site site) const {
  return pel::any(*this, axes, keepdim, site);
}
Tensor Tensor::all(Axes axes, KeepDims keepdim, Site site) const {
  return pel::all(*this, axes, keepdim, site);
}
Tensor Tensor::var(Axes axes, const Scalar& correction, KeepDims keepdim, Site site) const {
  return pel::var(*this, axes, correction, keepdim, site);
}
Tensor Tensor::stddev(Axes axes, const Scalar& correction, KeepDims keepdim, Site site) const {
  return pel::stddev(*this, axes, correction, keepdim, site);
}
Tensor Tensor::norm(const Scalar& p, Axes axes, KeepDims keepdim, std::optional<DType> dtype,
                    Site site) const {
  return pel::norm(*this, p, axes, keepdim, dtype, site);
}
Tensor Tensor::logsumexp(Axes axes, KeepDims keepdim, Site site) const {
  return pel::logsumexp(*this, axes, keepdim, site);
}
Tensor Tensor::cumsum(std::int64_t axis, std::optional<DType> dtype, Site site) const {
  return pel::cumsum(*this, axis, dtype, site);
}
Tensor Tensor::cumprod(std::int64_t axis, std::optional<DType> dtype, Site site) const {
  return pel::cumprod(*this, axis, dtype, site);
}
Tensor Tensor::logcumsumexp(std::int64_t axis, Site site) const {
  return pel::logcumsumexp(*this, axis, site);
}
std::tuple<Tensor, Tensor> Tensor::cummax(std::int64_t axis, Site site) const {
  return pel::cummax(*this, axis, site);
}
std::tuple<Tensor, Tensor> Tensor::cummin(std::int64_t axis, Site site) const {
  return pel::cummin(*this, axis, site);
}
std::tuple<Tensor, Tensor> Tensor::sort(std::int64_t axis, Descending descending, Site site) const {
  return pel::sort(*this, axis, descending, site);
}
Tensor Tensor::argsort(std::int64_t axis, Descending descending, Site site) const {
  return pel::argsort(*this, axis, descending, site);
}
std::tuple<Tensor, Tensor> Tensor::topk(Dim k, std::int64_t axis, Largest largest, Sorted sorted,
                                        Site site) const {
  return pel::topk(*this, k, axis, largest, sorted, site);
}
std::tuple<Tensor, Tensor> Tensor::kthvalue(Dim k, std::int64_t axis, KeepDims keepdim, Site site) const {
  return pel::kthvalue(*this, k, axis, keepdim, site);
}
Tensor Tensor::median(Site site) const { return pel::median(*this, site); }
std::tuple<Tensor, Tensor> Tensor::median(std::int64_t axis, KeepDims keepdim, Site site) const {
  return pel::median(*this, axis, keepdim, site);
}
std::tuple<Tensor, Tensor, Tensor> Tensor::unique(Sorted sorted, ReturnInverse return_inverse,
                                                  ReturnCounts return_counts, Site site) const {
  return pel::unique(*this, sorted, return_inverse, return_counts, site);
}
Tensor Tensor::bincount(std::int64_t minlength, Site site) const {
  return pel::bincount(*this, std::nullopt, minlength, site);
}
Tensor Tensor::bincount(const std::optional<Tensor>& weights, std::int64_t minlength, Site site) const {
  return pel::bincount(*this, weights, minlength, site);
}
Tensor Tensor::histc(std::int64_t bins, const Scalar& min, const Scalar& max, Site site) const {
  return pel::histc(*this, bins, min, max, site);
}
std::vector<Tensor> Tensor::split_with_sizes(Dims split_sizes, std::int64_t axis, Site site) const {
  return pel::split_with_sizes(*this, split_sizes, axis, site);
}

}  // namespace pel
