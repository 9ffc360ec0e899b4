// Gates: x times a distribution function, accurate in relative terms even where the result is small.
#include <vector>

#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::as_bits;
using detail::exp_coefficients;
using detail::kLog2E;
using detail::power_of_two;
using detail::power_offset;

// x / (1 + e^-(y + rest)) for y from -118.53 to 80, or -946.1 to 700. With e^-y = p 2^k and m = k / 4, or 0
// for y > 0, it is x 2^-m / (2^-m + p 2^(k - m)), where only the division rounds a denormal result. At the
// lower end 2^(k - m) is infinite, which turns -infinity into NaN.
Term gate(Term x, Term y, const Term* rest) {
  const DType type = x.type();
  const Term whole = fma(y, -kLog2E, detail::to_integer(type));
  const Term minus_m = as_bits(fma(min(0, y), kLog2E / 4, power_offset(type)));
  const Term one = power_of_two(minus_m), scale = power_of_two(as_bits(whole) + minus_m);
  const detail::SplitConstant ln2 = detail::ln2(type);
  const Term k = whole - detail::to_integer(type);
  Term minus_r = fma(k, ln2.low, fma(k, ln2.high, y));
  if (rest != nullptr) minus_r = minus_r + *rest;
  std::vector<double> coefficients = exp_coefficients(type).vec();
  for (std::size_t i = 1; i < coefficients.size(); i += 2) coefficients[i] = -coefficients[i];
  return (x * one) / fma(polynomial(minus_r, coefficients), scale, one);
}

// The normal distribution function at -t is e^(-t^2/2) b(t) / (s t b(t) + a(t)) with s = sqrt(2 pi): relative
// error 2^-29.4 for t < 14.5 and 2^-56 for t < 39. All coefficients are positive, and for large t the
// rounding errors of b(t) cancel. Of the common scales this one has the smallest error in f32: 3.6 ULP,
// others up to 4.7.
struct TailCoefficients {
  double s;
  std::vector<double> a, b;
};
TailCoefficients tail_coefficients(DType type) {
  if (type == kF32) {
    return {0x1.40d932p+1,
            {0x1.83fd8ep+0, 0x1.e74bc8p-1, 0x1.40f78cp-2, 0x1.cb65p-5, 0x1.314e78p-8},
            {0x1.83fd8ep-1, 0x1.a459bp-1, 0x1.b5594cp-2, 0x1.0748f6p-3, 0x1.6eb232p-6, 0x1.e726bp-10}};
  }
  return {0x1.40d931ff62706p+1,
          {0x1.8712f4239c1fap+0, 0x1.e2e3e506a3cc3p+0, 0x1.30fd44ec53f89p+0, 0x1.f42a188943d6bp-2,
           0x1.2116e4441664bp-3, 0x1.e4e11b400a743p-6, 0x1.2629345f9f174p-8, 0x1.f26f441e9aa05p-12,
           0x1.0cebf6c9b05c4p-15, 0x1.1cbba2241065bp-20},
          {0x1.8712f4239c1fap-1, 0x1.4a7f9a50965c4p+0, 0x1.144c9925e6287p+0, 0x1.27c7f781017e0p-1,
           0x1.bd23f4f4569c9p-3, 0x1.ea07898155a4ep-5, 0x1.8f38f440da14cp-7, 0x1.dc1e4428e47dbp-10,
           0x1.8f77da4b5c8cep-13, 0x1.ad23126a1a8c1p-17, 0x1.c65e37be9f1acp-22}};
}

// ndtr(-t) = e^(-t^2/2) numerator / denominator with t = |x|, clamped where both powers are 0.
struct NormalTail {
  Term t, numerator, denominator;
  Term exp_less_1, first, second;  // e^(-t^2/2) = (1 + exp_less_1) first second
};
NormalTail normal_tail(Term x) {
  const DType type = x.type();
  const Term t = min(type == kF64 ? 53.2575 : 18.7648, abs(x));
  const Term square = t * t;
  const Term lost = fma(t, t, -square);
  const auto [k, first, second] = detail::split_power(square, -kLog2E / 2);
  const detail::SplitConstant ln2 = detail::ln2(type);
  const Term r = fma(lost, -0.5, fma(k, -ln2.low, fma(k, -ln2.high, square * -0.5)));
  const ArrayView<double> exp = exp_coefficients(type);
  const Term exp_less_1 = fma(polynomial(r, {exp.data() + 2, exp.size() - 2}) * r, r, r);
  const auto [s, a, b] = tail_coefficients(type);
  const Term numerator = polynomial(t, b);
  return {t, numerator, fma(t * numerator, s, polynomial(t, a)), exp_less_1, first, second};
}

// |x|^n ndtr(-|x|) as value * power, for n = 0 or 1. Only the power, applied last, produces denormals; both
// are 0 where |x| was clamped.
struct Scaled {
  Term value, power;
};
Scaled scaled_tail(Term x, int n) {
  const NormalTail tail = normal_tail(x);
  const Term numerator = n == 0 ? tail.numerator : tail.t * tail.numerator;
  const Term value = fma(numerator, tail.exp_less_1, numerator) / tail.denominator;
  return {value * tail.first, tail.second};
}

// 2 sqrt(2/pi) and 0.044715 times it, in two parts each. The last bit of the first part is 2^-20 or 2^-47,
// so it is subtracted from a sum up to 16 or 64 without rounding.
struct TanhConstants {
  double linear, linear_rest, cubic, cubic_rest;
};

// z = 2 sqrt(2/pi) (y + 0.044715 y^3), its rounding error, and y dz/dy.
struct TanhArgument {
  Term z, rest, y_slope;
};
TanhArgument tanh_argument(Term y) {
  const TanhConstants c = y.type() == kF64
                              ? TanhConstants{0x1.9884533d4366p0, -0x1.ee5e069875fe9p-49,
                                              0x1.2444f2a4d8b4bp-4, -0x1.6c843a29d1c7p-61}
                              : TanhConstants{0x1.98845p0, 0x1.9ea1b2p-23, 0x1.2444f2p-4, 0x1.49b16ap-29};
  const Term square = y * y;
  const Term cubic = square * c.cubic;
  const Term cubic_lost = fma(fma(y, y, -square), c.cubic, fma(square, c.cubic, -cubic));
  const Term slope = cubic + c.linear;
  const Term slope_lost = cubic - (slope - c.linear) + fma(square, c.cubic_rest, cubic_lost + c.linear_rest);
  const Term z = y * slope;
  return {z, fma(y, slope_lost, fma(y, slope, -z)), y * (fma(cubic, 2, slope) + slope_lost)};
}

// The gradient through a gate. The slope at -x is 1 minus the slope at x; it is value first second at -|x|.
// The powers are applied last, so only they produce denormals.
Term gate_backward(Term grad, Term x, Term value, Term first, Term second) {
  const Term scaled = value * first;
  return select(x < 0, grad * scaled * second, grad * fma(scaled, -second, 1));
}
// Gradient of x / (1 + e^-z), where t dz/dt is t_slope for t = |x| and z >= 0: with w = e^-z and u = 1 / (1 +
// w) the slope at -t is w u (1 - u t_slope).
Term gate_backward(Term grad, Term x, Term z, const Term* rest, Term t_slope) {
  const auto [k, first, second] = detail::split_power(z, -kLog2E);
  const detail::SplitConstant ln2 = detail::ln2(x.type());
  Term r = fma(k, -ln2.low, fma(k, -ln2.high, -z));
  if (rest != nullptr) r = r - *rest;
  const Term power = polynomial(r, exp_coefficients(x.type()));
  const Term u = 1 / fma(power * first, second, 1);
  return gate_backward(grad, x, power * (u * fma(t_slope, -u, 1)), first, second);
}

}  // namespace

Term silu(Term x) {
  return gate(x, x.type() == kF64 ? detail::clamp(x, -946.1, 700) : detail::clamp(x, -118.53, 80), nullptr);
}

Term silu_backward(Term grad, Term x) {
  const Term t = min(x.type() == kF64 ? 1418.2 : 176.06, abs(x));  // where both powers are 0
  return gate_backward(grad, x, t, nullptr, t);
}

Term ndtr(Term x) {
  const auto [value, power] = scaled_tail(x, 0);
  const Term tail = value * power;
  return select(x < 0, tail, 1 - tail);
}

// max(x, 0) - |x| ndtr(-|x|).
Term gelu(Term x) {
  const auto [value, power] = scaled_tail(x, 1);
  const Term positive = fma(min(0, x), 0, max(-0.0, x));  // NaN at -infinity
  return fma(value, -power, positive);
}

// Phi(x) + x phi(x) below 0; phi(t) = e^(-t^2/2) / sqrt(2 pi).
Term gelu_backward(Term grad, Term x) {
  const NormalTail tail = normal_tail(x);
  const Term slope = fma(tail.t, -0x1.9884533d43651p-2, tail.numerator / tail.denominator);
  return gate_backward(grad, x, fma(slope, tail.exp_less_1, slope), tail.first, tail.second);
}

Term gelu_tanh(Term x) {
  const auto [z, rest, y_slope] =
      tanh_argument(x.type() == kF64 ? detail::clamp(x, -23.354, 19) : detail::clamp(x, -11.2143, 8.5));
  return gate(x, z, &rest);
}

Term gelu_tanh_backward(Term grad, Term x) {
  const auto [z, rest, t_slope] = tanh_argument(min(x.type() == kF64 ? 26.812 : 12.97, abs(x)));
  return gate_backward(grad, x, z, &rest, t_slope);
}

// With w = e^-|x| it is x w (1 - w (w + 1) / (w^2 + 2w + 2)) below 0, and x (1 - 2w^2 / (2w^2 + 2w + 1))
// above.
Term mish(Term x) {
  const DType type = x.type();
  const Term y = max(type == kF64 ? -1418.2 : -176.06, -abs(x));  // where both powers are 0
  const auto [k, first, second] = detail::split_power(y, kLog2E);
  const detail::SplitConstant ln2 = detail::ln2(type);
  const Term r = fma(k, -ln2.low, fma(k, -ln2.high, y));
  const Term value = polynomial(r, exp_coefficients(type)) * first;
  const Term w = value * second;
  const Term w_1 = w + 1, w_2 = w + w;
  const Term negative = x < 0;
  const Term numerator = w * select(negative, w_1, w_2);
  const Term denominator = select(negative, fma(w, w_1, w + 2), fma(w_2, w_1, 1));
  const Term factor = select(negative, value, 1);
  return x * fma(-factor, numerator / denominator, factor) * select(negative, second, 1);
}

}  // namespace pel::scalar
