#include <array>
#include <cstdint>
#include <vector>

#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::as_bits;
using detail::clamp;
using detail::exp_coefficients;
using detail::power_of_two;
using detail::power_offset;
using detail::split_power;

// e^r = 1 + r + r^2 q(r) for |r| <= 0.3469: relative error 2^-28.2 and 2^-57.9.
constexpr std::array kExpF32 = {1.0,          1.0,           0x1.fffffcp-2, 0x1.55549p-3,
                                0x1.5558ap-5, 0x1.123ac6p-7, 0x1.6a604p-10};
constexpr std::array kExpF64 = {1.0,
                                1.0,
                                0x1.000000000000ap-1,
                                0x1.55555555554fdp-3,
                                0x1.555555555068cp-5,
                                0x1.1111111126ec3p-7,
                                0x1.6c16c18487adbp-10,
                                0x1.a01a012eeaf68p-13,
                                0x1.a019992644c91p-16,
                                0x1.71df1abc977f4p-19,
                                0x1.28ae3959b86bfp-22,
                                0x1.ad90d5e9e4735p-26};

// 2^f for |f| <= 0.5005: relative error 2^-28.0 and 2^-57.3.
constexpr std::array kExp2F32 = {1.0,           0x1.62e43p-1,   0x1.ebfbd8p-3, 0x1.c6af74p-5,
                                 0x1.3b3098p-7, 0x1.5f0ccap-10, 0x1.3fabfep-13};
constexpr std::array kExp2F64 = {1.0,
                                 0x1.62e42fefa39efp-1,
                                 0x1.ebfbdff82c5a6p-3,
                                 0x1.c6b08d704a12ap-5,
                                 0x1.3b2ab6fb9fd79p-7,
                                 0x1.5d87fe789f11dp-10,
                                 0x1.4309130f7bdb7p-13,
                                 0x1.ffcbfc6419472p-17,
                                 0x1.62bfc627a96fap-20,
                                 0x1.b52527b1d38d8p-24,
                                 0x1.e61da9b910f7p-28,
                                 0x1.e96c003b960d1p-32};

// -2 (e^r - 1 - r) / r^2 for |r| <= 0.3469: the error relative to e^r - 1 is 2^-26.1 and 2^-61.5.
constexpr std::array kExpm1F32 = {-0x1.fffffep-1, -0x1.5554bp-2, -0x1.555718p-4, -0x1.1227b6p-6,
                                  -0x1.6b717ep-9};
constexpr std::array kExpm1F64 = {-1.0,
                                  -0x1.5555555555559p-2,
                                  -0x1.555555555554dp-4,
                                  -0x1.111111110f64cp-6,
                                  -0x1.6c16c16c1ab03p-9,
                                  -0x1.a01a01b009aefp-12,
                                  -0x1.a01a018e0fdf6p-15,
                                  -0x1.71ddf7fa32dbbp-18,
                                  -0x1.27e5132d0179ap-21,
                                  -0x1.af5f59d44ffafp-25,
                                  -0x1.1f1a60f6591dbp-28};

}  // namespace

namespace detail {

ArrayView<double> exp_coefficients(DType type) {
  return type == kF64 ? ArrayView<double>(kExpF64) : ArrayView<double>(kExpF32);
}
ArrayView<double> exp2_coefficients(DType type) {
  return type == kF64 ? ArrayView<double>(kExp2F64) : ArrayView<double>(kExp2F32);
}

SplitPower split_power(Term x, double scale) {
  const DType type = x.type();
  const double offset = power_offset(type) + exponent_bias(type);
  const Term whole = fma(x, scale, offset);
  const Term half = as_bits(fma(x, scale / 2, power_offset(type)));
  return {whole - offset, power_of_two(half), power_of_two(as_bits(whole) - half)};
}

ReducedExponential reduce_exp(Term x, double factor, int offset) {
  const DType type = x.type();
  const SplitConstant ln_2 = ln2(type);
  const Term sum = fma(x, factor * kLog2E, power_offset(type) + offset);
  const Term k = sum - (power_offset(type) + offset);
  const Term r = fma(k, -ln_2.low / factor, fma(k, -ln_2.high / factor, x));
  std::vector<double> coefficients = exp_coefficients(type).vec();
  double power = 1;
  for (double& c : coefficients) {
    c *= power;
    power *= factor;
  }
  return {polynomial(r, coefficients), power_of_two(as_bits(sum))};
}

}  // namespace detail

Term exp(Term x) {
  const DType type = x.type();
  // At the ends of the range e^x is already infinity and 0.
  const Term y = type == kF64 ? clamp(x, -746, 710) : clamp(x, -104, 89);
  const auto [k, first, second] = split_power(y, detail::kLog2E);
  const detail::SplitConstant ln2 = detail::ln2(type);
  const Term r = fma(k, -ln2.low, fma(k, -ln2.high, y));
  return polynomial(r, exp_coefficients(type)) * first * second;
}

Term exp_term(Term x) {
  const DType type = x.type();
  const Term y = max(x.constant(type == kF64 ? -708.0 : -87.0), x);
  const auto [significand, power] = detail::reduce_exp(y, 1, 0);
  return significand * power;
}

Term exp2(Term x) {
  const DType type = x.type();
  const Term y = type == kF64 ? clamp(x, -1076, 1025) : clamp(x, -151, 129);
  const auto [k, first, second] = split_power(y, 1);
  return polynomial(y - k, detail::exp2_coefficients(type)) * first * second;
}

Term expm1(Term x) {
  const DType type = x.type();
  const int width = detail::mantissa_width(type);
  // Below, e^x is less than a quarter ULP of 1; above, it is infinite.
  const Term y = type == kF64 ? clamp(x, -39, 710) : clamp(x, -18, 89);
  const detail::SplitConstant ln2 = detail::ln2(type);
  // e^x - 1 = 2^(k - 1) (2 r + (2 - 2^(1 - k)) + tail), where k - 1 is at most 127 or 1023. With r = high -
  // low the high part is exact, and the low one is added to the tail. That makes two roundings, and none
  // before the last for k = 0. Subtraction preserves the sign of zero: both differences are -0 if x is.
  const Term sum = fma(y, detail::kLog2E, power_offset(type) - 1);
  const Term k = sum - (power_offset(type) - 1);
  const Term high = fma(k, -ln2.high, y), low = k * ln2.low;
  const Term r = high - low;
  const Term minus_tail =
      fma(polynomial(r, type == kF64 ? ArrayView<double>(kExpm1F64) : ArrayView<double>(kExpm1F32)), r * r,
          low + low);
  const Term power = as_bits(sum) << width;
  const Term inverse =
      (static_cast<std::int64_t>(2 * detail::exponent_bias(type)) << width) - power;  // 2^(1 - k)
  return (fma(high, 2, -(bitcast(inverse, type) - 2)) - minus_tail) * bitcast(power, type);
}

Term sigmoid(Term x) {
  // With e^-x = p 2^k and m near k / 2 this is 2^-m / (2^-m + p 2^(k - m)). Both powers are in range even
  // if e^-x is not, and only the division rounds a denormal result.
  const DType type = x.type();
  const Term y = type == kF64 ? clamp(x, -746, 746) : clamp(x, -104, 104);
  const Term whole = fma(y, -detail::kLog2E, detail::to_integer(type));
  const Term k = whole - detail::to_integer(type);
  const Term minus_half = as_bits(fma(y, detail::kLog2E / 2, power_offset(type)));
  const Term numerator = power_of_two(minus_half), scale = power_of_two(as_bits(whole) + minus_half);
  const detail::SplitConstant ln2 = detail::ln2(type);
  const Term minus_r = fma(k, ln2.low, fma(k, ln2.high, y));
  std::vector<double> coefficients = exp_coefficients(type).vec();
  for (std::size_t i = 1; i < coefficients.size(); i += 2) coefficients[i] = -coefficients[i];
  coefficients.erase(coefficients.begin());
  const Term p_less_1 = polynomial(minus_r, coefficients) * minus_r;
  return numerator / (scale + fma(p_less_1, scale, numerator));
}

}  // namespace pel::scalar
