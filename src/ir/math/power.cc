#include <vector>

#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::clamp;
using detail::kInfinity;

// A sum of two f64, the second at most half an ULP of the first.
struct Double2 {
  Term high, low;
};
// |a| >= |b|, or a = 0.
Double2 fast_sum(Term a, Term b) {
  const Term high = a + b;
  return {high, a - high + b};
}
Double2 product(Term a, Term b) {
  const Term high = a * b;
  return {high, fma(a, b, -high)};
}

// log2(a) with a relative error of about 2^-65: times an exponent, it must be accurate to 2^-54 at 1024.
Double2 log2_f64(Term a) {
  const auto [f, minus_k] = detail::reduce_log(a, detail::Top::Sqrt2);
  // s = f / (2 + f), |s| < 0.172. log2(1 + f) = s (C + z C/3 + z^2 q(z)) with C = 2 / ln 2, z = s^2.
  const Double2 divisor = fast_sum(a.constant(2.0), f);
  const Term inverse = 1 / divisor.high;
  const Term s = f * inverse;
  const Term s_low = fma(-s, divisor.low, fma(-s, divisor.high, f)) * inverse;
  const Double2 square = product(s, s);
  const Term z = square.high, z_low = fma(s + s, s_low, square.low);
  // q is at most 2^-12.5 of the sum, so its own rounding error is 2^-65.7 of the sum; all other terms have
  // two parts. The polynomial's error relative to the logarithm is 2^-73.4.
  const Term q =
      polynomial(z, {0x1.2776c50ef9bfcp-1, 0x1.a61762a7aedd7p-2, 0x1.484b13d6ad74fp-2, 0x1.0c9a853ab0276p-2,
                     0x1.c68ee981ffd26p-3, 0x1.8a09b32d2110dp-3, 0x1.58fd1e4491eabp-3, 0x1.61ee9d163870ep-3});
  const double c = 0x1.71547652b82fep1, c_low = 0x1.777d0ffda0d24p-55;
  const double third = 0x1.ec709dc3a03fdp-1, third_low = 0x1.d27f05548af0cp-55;
  const Double2 zq = product(z, q);
  const Double2 slope = fast_sum(a.constant(third), zq.high);
  const Term slope_low = slope.low + fma(z_low, q, zq.low + third_low);
  const Double2 rest = product(z, slope.high);
  const Double2 factor = fast_sum(a.constant(c), rest.high);
  const Term factor_low = factor.low + fma(z_low, slope.high, fma(z, slope_low, rest.low + c_low));
  const Double2 log = product(s, factor.high);
  const Term log_low = fma(s, factor_low, fma(s_low, factor.high, log.low));
  const Double2 sum = fast_sum(minus_k * -0x1p-52, log.high);
  return {sum.high, sum.low + log_low};
}

// a^y for a >= 0 except a = 1 and y = 0, where it may be the product of a zero and an infinity.
Term power_f64(Term a, Term y) {
  Double2 log = log2_f64(a);
  log.high = select(a == 0, -kInfinity, select(a < kInfinity, log.high, a));
  Double2 t = product(y, log.high);
  // Beyond 1100 the result is 0 or infinite, and the low part large or NaN.
  t.low = select(abs(t.high) < 1100, fma(y, log.low, t.low), 0.0);
  const Term high = clamp(t.high, -1100, 1100);
  const auto [k, first, second] = detail::split_power(high, 1);
  const Double2 r = fast_sum(high - k, t.low);
  std::vector<double> slope = detail::exp2_coefficients(kF64).vec();
  slope.erase(slope.begin());
  // The derivative with respect to the low part is ln 2 times 0.7 to 1.4; a constant is accurate enough.
  return (fma(polynomial(r.high, slope), r.high, r.low * 0x1.62e43p-1) + 1) * first * second;
}

// The same, computed in f64, whose range and precision need no special cases: relative errors 2^-38.5 of the
// logarithm and 2^-34.3 of the power.
Term power_f32(Term a, Term y) {
  const Term wide = cast(a, kF64);
  const Term bits = detail::as_bits(wide);
  const Term minus_k = detail::minus_exponent(bits, detail::Top::Sqrt2);
  const Term f = bitcast(bits + minus_k, kF64) - 1;
  const Term slope =
      polynomial(f, {0x1.71547652b58e6p0, -0x1.71547651b69bfp-1, 0x1.ec709de346d59p-2, -0x1.7154788904c63p-2,
                     0x1.2776b6c951be2p-2, -0x1.ec6f2d962a57ep-3, 0x1.a61b7e85f56e6p-3, -0x1.7188decca3499p-3,
                     0x1.481fac2a634c3p-3, -0x1.23d5c06d1b207p-3, 0x1.0acd60ce153dp-3, -0x1.13baf8424e01bp-3,
                     0x1.0f66da6f96095p-3, -0x1.1da9199e8dbe7p-4});
  const Term finite = fma(cast(minus_k, kF64), -0x1p-52, slope * f);
  const Term log = select(a == 0, -kInfinity, select(a < kInfinity, finite, wide));
  const Term t = clamp(log * cast(y, kF64), -200, 200);
  const Term sum = t + detail::power_offset(kF64);
  const Term significand =
      polynomial(t - (sum - detail::power_offset(kF64)),
                 {1, 0x1.62e42ff0e1925p-1, 0x1.ebfbe077871dp-3, 0x1.c6b08ac06aae3p-5, 0x1.3b29f39d55bb6p-7,
                  0x1.5d8a86003ad25p-10, 0x1.445c83fdf658cp-13, 0x1.fde5fc123dce8p-17});
  return cast(significand * detail::power_of_two(detail::as_bits(sum)), kF32);
}

}  // namespace

Term pow(Term x, Term y) {
  const Term a = abs(x);
  const Term power = x.type() == kF64 ? power_f64(a, y) : power_f32(a, y);
  // 1^y and x^0 are 1 even for NaN; x = -1 with NaN or another non-integer y is handled below.
  const Term magnitude = select((a == 1) | (y == 0), 1, power);
  const Term half = y * 0.5;
  const Term integer = floor(y) == y;
  const Term odd = integer & (floor(half) != half);
  const Term defined = integer | ~(x < 0) | (a == kInfinity);
  return select(defined, copy_sign(magnitude, select(odd, x, 0.0)), detail::kNaN);
}

}  // namespace pel::scalar
