// Elementwise arithmetic: sums, products, quotients, powers, rounding, clamping.
// Names, semantics and type promotion are PyTorch's; sizes broadcast. pointwise_forms.h explains PEL_UNARY
// and PEL_BINARY.
#pragma once

#include <cstdint>
#include <optional>

#include "pellucid/enum_names.h"
#include "pellucid/ops/pointwise_forms.h"

namespace pel {

// Arithmetic. Sums and differences take a factor for one operand; bool is not subtracted. maximum and minimum
// return NaN if either operand is NaN; fmax and fmin return the other operand.
PEL_API Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                   Site site = Site::current());  // self + alpha * other
PEL_API Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                   Site site = Site::current());
PEL_API const Tensor& add_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& add_(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& add_out(const Tensor& out, const Tensor& self, const Tensor& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& add_out(const Tensor& out, const Tensor& self, const Scalar& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                   Site site = Site::current());  // self - alpha * other
PEL_API Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                   Site site = Site::current());
PEL_API const Tensor& sub_(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& sub_(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                           Site site = Site::current());
PEL_API const Tensor& sub_out(const Tensor& out, const Tensor& self, const Tensor& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API const Tensor& sub_out(const Tensor& out, const Tensor& self, const Scalar& other,
                              const Scalar& alpha = 1, Site site = Site::current());
PEL_API Tensor rsub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1,
                    Site site = Site::current());  // other - alpha * self
PEL_API Tensor rsub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1,
                    Site site = Site::current());
PEL_BINARY(mul)
// self / other: floating. With a rounding mode integers stay integers, and division by an integer 0 is an
// error, as in the four ops below.
enum class RoundingMode : std::uint8_t { Floor, Trunc };  // down, towards zero
template <>
inline constexpr EnumNames<2> enum_names<RoundingMode> = {"rounding_mode", {"floor", "trunc"}};
PEL_API Tensor div(const Tensor& self, const Tensor& other,
                   std::optional<RoundingMode> rounding_mode = std::nullopt, Site site = Site::current());
PEL_API Tensor div(const Tensor& self, const Scalar& other,
                   std::optional<RoundingMode> rounding_mode = std::nullopt, Site site = Site::current());
PEL_API Tensor div(const Scalar& self, const Tensor& other,
                   std::optional<RoundingMode> rounding_mode = std::nullopt, Site site = Site::current());
PEL_API const Tensor& div_(const Tensor& self, const Tensor& other,
                           std::optional<RoundingMode> rounding_mode = std::nullopt,
                           Site site = Site::current());
PEL_API const Tensor& div_(const Tensor& self, const Scalar& other,
                           std::optional<RoundingMode> rounding_mode = std::nullopt,
                           Site site = Site::current());
PEL_API const Tensor& div_out(const Tensor& out, const Tensor& self, const Tensor& other,
                              std::optional<RoundingMode> rounding_mode = std::nullopt,
                              Site site = Site::current());
PEL_API const Tensor& div_out(const Tensor& out, const Tensor& self, const Scalar& other,
                              std::optional<RoundingMode> rounding_mode = std::nullopt,
                              Site site = Site::current());
PEL_BINARY(floor_divide)  // rounded down
PEL_BINARY(trunc_divide)  // rounded towards zero
PEL_BINARY(remainder)     // of floor_divide: the sign of other
PEL_BINARY(fmod)          // of trunc_divide: the sign of self
PEL_BINARY(pow)           // integers modulo 2^width; a negative exponent of integers is an error
PEL_API Tensor pow(const Scalar& self, const Tensor& exponent, Site site = Site::current());
PEL_API const Tensor& pow_out(const Tensor& out, const Scalar& self, const Tensor& exponent,
                              Site site = Site::current());
PEL_BINARY(float_power)  // pow in f64
PEL_API Tensor float_power(const Scalar& self, const Tensor& exponent, Site site = Site::current());
PEL_API const Tensor& float_power_out(const Tensor& out, const Scalar& self, const Tensor& exponent,
                                      Site site = Site::current());
PEL_BINARY_OUT(maximum)
PEL_BINARY_OUT(minimum)
PEL_BINARY_OUT(fmax)
PEL_BINARY_OUT(fmin)
PEL_BINARY(hypot)      // sqrt(self^2 + other^2)
PEL_BINARY(copysign)   // floating
PEL_BINARY(nextafter)  // f32 and f64
PEL_BINARY(ldexp)      // self * 2^other; floating
PEL_BINARY(heaviside)  // 0 below zero, 1 above, other at zero

// max(self, min), then min of that and max; one of the bounds may be omitted. NaN if any of the three is NaN.
PEL_API Tensor clamp(const Tensor& self, const std::optional<Scalar>& min,
                     const std::optional<Scalar>& max = std::nullopt, Site site = Site::current());
PEL_API Tensor clamp(const Tensor& self, const std::optional<Tensor>& min,
                     const std::optional<Tensor>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_(const Tensor& self, const std::optional<Scalar>& min,
                             const std::optional<Scalar>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_(const Tensor& self, const std::optional<Tensor>& min,
                             const std::optional<Tensor>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_out(const Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
                                const std::optional<Scalar>& max = std::nullopt, Site site = Site::current());
PEL_API const Tensor& clamp_out(const Tensor& out, const Tensor& self, const std::optional<Tensor>& min,
                                const std::optional<Tensor>& max = std::nullopt, Site site = Site::current());
PEL_BINARY(clamp_min)
PEL_BINARY(clamp_max)
// self + weight * (end - self).
PEL_API Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight, Site site = Site::current());
PEL_API Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight, Site site = Site::current());
PEL_API const Tensor& lerp_(const Tensor& self, const Tensor& end, const Tensor& weight,
                            Site site = Site::current());
PEL_API const Tensor& lerp_(const Tensor& self, const Tensor& end, const Scalar& weight,
                            Site site = Site::current());
PEL_API const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight,
                               Site site = Site::current());
PEL_API const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end, const Scalar& weight,
                               Site site = Site::current());
// self + value * tensor1 * tensor2.
PEL_API Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcmul_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                               const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcmul_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                                  const Tensor& tensor2, const Scalar& value = 1,
                                  Site site = Site::current());
// self + value * tensor1 / tensor2.
PEL_API Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                       const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcdiv_(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                               const Scalar& value = 1, Site site = Site::current());
PEL_API const Tensor& addcdiv_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                                  const Tensor& tensor2, const Scalar& value = 1,
                                  Site site = Site::current());

// Arithmetic with one argument. sqrt, rsqrt and reciprocal are floating.
PEL_UNARY(neg)
PEL_UNARY(abs)
PEL_UNARY(sign)  // -1, 0 or 1; 0 for NaN
PEL_UNARY(sgn)   // sign
PEL_UNARY(square)
PEL_UNARY(sqrt)
PEL_UNARY(rsqrt)       // 1 / sqrt(x)
PEL_UNARY(reciprocal)  // 1 / x

// Rounding. Integers stay as they are.
PEL_UNARY(floor)
PEL_UNARY(ceil)
PEL_UNARY(trunc)
PEL_UNARY(frac)  // x - trunc(x), floating dtypes only
// Halves to even. `decimals` counts digits after the decimal point, or before it if negative.
PEL_API Tensor round(const Tensor& self, std::int64_t decimals = 0, Site site = Site::current());
PEL_API const Tensor& round_(const Tensor& self, std::int64_t decimals = 0, Site site = Site::current());
PEL_API const Tensor& round_out(const Tensor& out, const Tensor& self, std::int64_t decimals = 0,
                                Site site = Site::current());

// NaN and infinities replaced; infinities by default with the largest finite numbers of the dtype.
PEL_API Tensor nan_to_num(const Tensor& self, double nan = 0, std::optional<double> posinf = std::nullopt,
                          std::optional<double> neginf = std::nullopt, Site site = Site::current());
PEL_API const Tensor& nan_to_num_(const Tensor& self, double nan = 0,
                                  std::optional<double> posinf = std::nullopt,
                                  std::optional<double> neginf = std::nullopt, Site site = Site::current());
PEL_API const Tensor& nan_to_num_out(const Tensor& out, const Tensor& self, double nan = 0,
                                     std::optional<double> posinf = std::nullopt,
                                     std::optional<double> neginf = std::nullopt,
                                     Site site = Site::current());

}  // namespace pel
