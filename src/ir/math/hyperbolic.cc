#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {

using detail::kInfinity;
using detail::kNaN;

namespace {

// x + x^3 p(x^2).
Term odd_polynomial(Term x, ArrayView<double> coefficients) {
  const Term square = x * x;
  return fma(polynomial(square, coefficients) * square, x, x);
}

// e^x / 4, finite wherever sinh and cosh are.
Term quarter_exp(Term x) {
  const auto [significand, power] = detail::reduce_exp(min(x.type() == kF64 ? 711 : 90, x), 1, -2);
  return significand * power;
}

}  // namespace

Term sinh(Term x) {
  const Term a = abs(x);
  const Term quarter = quarter_exp(a);
  const Term half = quarter - 0.0625 / quarter;
  // Up to 1, relative error 2^-31.4 and 2^-61.5.
  const Term small =
      x.type() == kF64 ? odd_polynomial(a, {0x1.5555555555556p-3, 0x1.111111111104p-7, 0x1.a01a01a0318dap-13,
                                            0x1.71de3a4056263p-19, 0x1.ae646b4da3e84p-26,
                                            0x1.6118df4db14b7p-33, 0x1.b52ecb43cd01ep-41})
                       : odd_polynomial(a, {0x1.555556p-3, 0x1.1110eap-7, 0x1.a01c22p-13, 0x1.767726p-19});
  return copy_sign(select(a < 1, small, half + half), x);
}

Term cosh(Term x) {
  const Term quarter = quarter_exp(abs(x));
  const Term half = quarter + 0.0625 / quarter;
  return half + half;
}

Term tanh(Term x) {
  const Term a = abs(x);
  // At the end of the range the result is 1, correctly rounded.
  const auto [significand, power] = detail::reduce_exp(min(x.type() == kF64 ? 19.1 : 9.1, a), 2, 0);
  const Term large = 1 - 2 / fma(significand, power, 1);
  // Up to 0.625, relative error 2^-27.7 and 2^-61.2. E / (E + 2) with E from expm1 would serve all arguments,
  // with 2.5 ULP of error.
  const Term small =
      x.type() == kF64
          ? odd_polynomial(a, {-0x1.5555555555552p-2, 0x1.1111111110c53p-3, -0x1.ba1ba1b9d1a1ap-5,
                               0x1.664f4870c45b4p-6, -0x1.226e32cf98caap-7, 0x1.d6d35a32c52ap-9,
                               -0x1.7d9c3288323b4p-10, 0x1.350b810b7b7b9p-11, -0x1.f112f122aed49p-13,
                               0x1.801a0446b4836p-14, -0x1.fabe8a709e3fap-16, 0x1.95f7a07abbbbcp-18})
          : odd_polynomial(a, {-0x1.555532p-2, 0x1.110704p-3, -0x1.b83898p-5, 0x1.521152p-6, -0x1.758cap-8});
  return copy_sign(select(a < 0.625, small, large), x);
}

namespace {

// Above this, the square may overflow, and adding 1 to it has no effect.
double large_square(DType type) { return type == kF64 ? 0x1p60 : 0x1p30; }

// log(1 + w), or log(2 (1 + w)).
detail::ReducedLogarithm reduce_log1p_or_twice(Term twice, Term w) {
  auto [f, minus_k] = detail::reduce_log1p(w);
  return {f, select(twice, minus_k - 1 / detail::exponent_unit(w.type()), minus_k)};
}

}  // namespace

Term asinh(Term x) {
  // log1p(|x| + (sqrt(1 + x^2) - 1)), without cancellation.
  const Term a = abs(x);
  const Term large = a > large_square(x.type());
  const Term w = fma(a, a / (sqrt(fma(a, a, 1)) + 1), a);
  const Term value = detail::log(reduce_log1p_or_twice(large, select(large, a, w)));
  return copy_sign(select(a < kInfinity, value, a), x);
}

Term acosh(Term x) {
  // With t = x - 1, log1p(t + sqrt(t (t + 2))). Near 1 the logarithm does not dampen the error of its
  // argument, so the rounding error of the sum is added back.
  const Term large = x > large_square(x.type());
  const Term t = x - 1;
  const Term root = sqrt(fma(t, t, t + t));
  const Term w = t + root;
  const Term rounded_off = select(w < 0.5, root - w + t, 0.0);
  const Term value = detail::log(reduce_log1p_or_twice(large, select(large, x, w)), rounded_off);
  return select(x == kInfinity, x, select(x >= 1, value, x.constant(kNaN)));
}

Term atanh(Term x) {
  // log1p(2 a / (1 - a)) / 2, with the quotient arranged so that it is rounded once for small a.
  const Term a = abs(x), twice = a + a;
  const Term value = detail::log(detail::reduce_log1p(fma(twice, a / (1 - a), twice))) * 0.5;
  return copy_sign(select(a < 1, value, select(a == 1, kInfinity, x.constant(kNaN))), x);
}

}  // namespace pel::scalar
