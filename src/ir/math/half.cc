// Short formulas for results that are rounded to f16 or bf16. Polynomials have the degree that 0.01 ULP of
// the result needs; a square of an argument is exact; and 2^y is the square of 2^(y/2), which needs no power
// beyond those of normal numbers.
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::as_bits;
using detail::clamp;
using detail::kLog2E;
using detail::power_of_two;
using detail::power_offset;

bool is_f16(DType half) {
  PEL_ASSERT(half == kF16 || half == kBF16, "short formulas are for f16 and bf16");
  return half == kF16;
}

// 2^f for |f| <= 0.5005: relative error 2^-18.5 and 2^-23.
enum class Exp2Degree : std::uint8_t { Four, Five };
std::vector<double> exp2_coefficients(Exp2Degree degree) {
  if (degree == Exp2Degree::Four)
    return {0x1.ffffe8p-1, 0x1.62e0dcp-1, 0x1.ec06cp-3, 0x1.ca1534p-5, 0x1.399c9p-7};
  return {0x1.000002p0, 0x1.62e432p-1, 0x1.ebf874p-3, 0x1.c6ae24p-5, 0x1.3d328p-7, 0x1.5fa056p-10};
}

// 2^(factor y) = significand × 2^k, for k from -127, whose power is 0, to 128, whose power is infinity.
struct Power {
  Term significand;  // in [0.7, 1.42]
  Term power_bits;   // of 2^k
  Term value() const { return significand * bitcast(power_bits, kF32); }
};
Power exp2_of(Term y, double factor, Exp2Degree degree) {
  const Term sum = fma(y, factor, power_offset(kF32));
  const Term k = sum - power_offset(kF32);
  const Term f = fma(y, factor, -k);
  return {polynomial(f, exp2_coefficients(degree)), as_bits(sum) << detail::mantissa_width(kF32)};
}
// The square root of e^(factor y), accurate enough to be squared.
Power half_power(Term y, double factor, DType half) {
  return exp2_of(y, factor * kLog2E / 2, is_f16(half) ? Exp2Degree::Five : Exp2Degree::Four);
}

// 1 / (1 + e^-y) for y from -170 to 170. With e^-y = (p 2^k)^2 it is 2^-k / (2^-k + p^2 2^k), which does not
// overflow.
Term sigmoid_of(Term y, DType half) {
  const Power root = half_power(y, -1, half);
  const Term inverse = bitcast((std::int64_t{2 * 127} << 23) - root.power_bits, kF32);
  const Term square = root.significand * root.significand;
  return inverse / fma(square, bitcast(root.power_bits, kF32), inverse);
}

// Below the lower end the distribution function is 0 in f32, so that x times it is NaN at -infinity.
constexpr double kLowest = -105;

// e^(t^2/2) ndtr(-t) for t >= 0: relative error 2^-15.3 up to 14.5; for f16 2^-23.6 up to 6.
Term normal_ratio(Term t, DType half) {
  if (is_f16(half)) {
    return polynomial(t, {0x1.fffffep-2, 0x1.56a1cep-2, 0x1.abf518p-4, 0x1.beb6d4p-7}) /
           polynomial(t, {1, 0x1.7792d4p0, 0x1.c255eap-1, 0x1.0b9dep-2, 0x1.181afp-5});
  }
  return polynomial(t, {0x1.0001a2p-1, 0x1.1dae6ep-2, 0x1.0157b2p-4}) /
         polynomial(t, {1, 0x1.5b4bf4p0, 0x1.689670p-1, 0x1.422f46p-3});
}
// |x|, at most the number from which on e^(-t^2/2) is 0, and e^(-t^2/4).
struct Normal {
  Term t, root;
};
Normal normal(Term x, DType half) {
  const Term t = min(18.7648, abs(x));
  return {t, half_power(t * t, -0.5, half).value()};
}

// 2 sqrt(2 / pi), and 0.044715 times it.
constexpr double kTanhLinear = 0x1.9884533d43651p0, kTanhCubic = 0x1.2444f2a4d8b4bp-4;

// grad times a slope that is value × root at -|x|, and 1 minus that at |x|. The root is applied last, so that
// only a product with it is rounded to a denormal.
Term through_slope(Term grad, Term x, Term value, Term root) {
  return select(x < 0, grad * value * root, grad * fma(value, -root, 1));
}
// The slope of x / (1 + e^-z), where t dz/dt is t_slope for t = |x|: with w = e^-z and u = 1 / (1 + w) it is
// w u (1 - u t_slope) at -t.
Term through_gate(Term grad, Term x, Term z, Term t_slope, DType half) {
  const Term root = half_power(z, -1, half).value();
  const Term u = 1 / fma(root, root, 1);
  return through_slope(grad, x, root * u * fma(t_slope, -u, 1), root);
}

// x p(x^2) / q(x^2).
Term odd_ratio(Term x, ArrayView<double> p, ArrayView<double> q) {
  const Term square = x * x;
  return x * polynomial(square, p) / polynomial(square, q);
}

}  // namespace

Term exp_half(Term x, DType half) {
  if (is_f16(half)) return exp2_of(clamp(x, -18, 12), kLog2E, Exp2Degree::Four).value();
  const Term root = half_power(clamp(x, -94, 90), 1, half).value();
  return root * root;
}

Term sigmoid_half(Term x, DType half) { return sigmoid_of(clamp(x, kLowest, 20), half); }

Term silu_half(Term x, DType half) { return x * sigmoid_half(x, half); }

Term silu_backward_half(Term grad, Term x, DType half) {
  const Term t = min(176.06, abs(x));  // where the root is 0
  return through_gate(grad, x, t, t, half);
}

Term gelu_half(Term x, DType half) {
  const auto [t, root] = normal(x, half);
  const Term tail = normal_ratio(t, half) * root * root;
  return x * select(x < 0, tail, 1 - tail);
}

// Phi(x) + x phi(x) below 0; phi(t) = e^(-t^2/2) / sqrt(2 pi).
Term gelu_backward_half(Term grad, Term x, DType half) {
  const auto [t, root] = normal(x, half);
  return through_slope(grad, x, fma(t, -0x1.9884533d43651p-2, normal_ratio(t, half)) * root, root);
}

Term gelu_tanh_half(Term x, DType half) {
  const Term y = clamp(x, -10.8, 8.5);
  return x * sigmoid_of(y * fma(y * y, kTanhCubic, kTanhLinear), half);
}

Term gelu_tanh_backward_half(Term grad, Term x, DType half) {
  const Term t = min(12.97, abs(x));  // where the root is 0
  const Term square = t * t;
  return through_gate(grad, x, t * fma(square, kTanhCubic, kTanhLinear),
                      t * fma(square, 3 * kTanhCubic, kTanhLinear), half);
}

// Beyond the clamp the result rounds to 1. Relative error 2^-17.5 and 2^-19.5.
Term tanh_half(Term x, DType half) {
  if (is_f16(half)) {
    return odd_ratio(clamp(x, -4.7, 4.7), {0x1.ffffd4p-1, 0x1.dfb028p-4, 0x1.b6a3f4p-10},
                     {1, 0x1.cd3e8ap-2, 0x1.2f19dp-6, 0x1.192004p-14});
  }
  return odd_ratio(clamp(x, -3.5, 3.5), {0x1.ffff46p-1, 0x1.b4a4dp-4, 0x1.ae967ep-11},
                   {1, 0x1.c27211p-2, 0x1.d0d712p-7});
}

// Relative error 2^-16.8 and 2^-19.5.
Term erf_half(Term x, DType half) {
  if (is_f16(half)) {
    return odd_ratio(clamp(x, -2.8, 2.8), {0x1.20dd8ep0, 0x1.3b2a32p-3, 0x1.603562p-5, 0x1.831096p-11},
                     {1, 0x1.e1055ep-2, 0x1.8349f6p-4, 0x1.2de6e8p-7});
  }
  return odd_ratio(clamp(x, -2.4, 2.4), {0x1.20dcd4p0, 0x1.20cf2cp-3, 0x1.ee334ap-6},
                   {1, 0x1.d52436p-2, 0x1.477c66p-4, 0x1.08ff26p-8});
}

}  // namespace pel::scalar
