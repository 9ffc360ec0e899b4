#include <cstdint>

#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::as_bits;
using detail::kInfinity;

// pi / 4 in two parts. Multiples of `high` up to 4 are exact in f64, and 2 and 4 times it in f32.
struct SplitPi {
  double high, low;
};
SplitPi quarter_pi(DType type) {
  return type == kF64 ? SplitPi{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}
                      : SplitPi{0x1.921fb6p-1, -0x1.777a5cp-26};
}

// base pi/4 - (large + small), rounded once except for the last bit of `small`. |large| is below
// the first term, or that is 0.
Term from_quarters(Term base, Term large, Term small) {
  const SplitPi pi = quarter_pi(large.type());
  const Term start = base * pi.high;
  const Term sum = start - large;
  const Term lost = start - sum - large;
  return sum + (lost + fma(base, pi.low, -small));
}

// asin(s) = s + small, where s is |x|, or sqrt((1 - |x|) / 2) beyond 0.5: there asin(|x|) = pi/2 - 2 asin(s).
struct ArcSine {
  Term beyond;
  Term s, small;
};
ArcSine arc_sine(Term x) {
  const Term a = abs(x);
  const Term beyond = 0.5 < a;
  const Term square = select(beyond, fma(a, -0.5, 0.5), a * a);
  const Term root = sqrt(square);
  const Term s = select(beyond, root, a);
  if (x.type() == kF32) {
    // (asin(s) - s) / s^3, relative error of asin 2^-27.6.
    const Term p =
        polynomial(square, {0x1.5555c8p-3, 0x1.330206p-4, 0x1.747b72p-5, 0x1.8c415ap-6, 0x1.5959aap-5});
    return {beyond, s, s * square * p};
  }
  // As above, with relative error 2^-59.8.
  const Term p = polynomial(
      square, {0x1.5555555555577p-3, 0x1.333333332e138p-4, 0x1.6db6db7211ecbp-5, 0x1.f1c71a9529591p-6,
               0x1.6e8bded9b8424p-6, 0x1.1c49f0d857868p-6, 0x1.ca1f817ac079bp-7, 0x1.7585eddd49f02p-7,
               0x1.613a5057b4042p-7, 0x1.e617d107f14eap-9, 0x1.6391e129bda95p-6, -0x1.57ee5a5cf6af4p-6,
               0x1.0b41f51e4202fp-5});
  // The rounding error of the root; 0 if the root is 0.
  const Term lost = select(beyond, fma(-root, root, square) * (0.5 / max(0x1p-100, root)), 0.0);
  return {beyond, s, fma(s * square, p, lost)};
}

Term atan_f32(Term x) {
  const Term a = abs(x);
  const Term beyond = 1 < a;
  const Term t = select(beyond, -1 / a, a);
  const Term square = t * t;
  // (atan(t) - t) / t^3 for t up to 1, relative error of atan 2^-28.5.
  const Term p =
      polynomial(square, {-0x1.55553ep-2, 0x1.9991e6p-3, -0x1.2420b4p-3, 0x1.c08f2ep-4, -0x1.581456p-4,
                          0x1.da59eap-5, -0x1.fdefc4p-6, 0x1.64b212p-7, -0x1.d4782ap-10});
  // The product of these two is the closest to pi/2 of all products of two f32; the difference is 2^-45.
  const Term factor = select(beyond, x.constant(0x1.aee9d6p+0), 0.0);
  return copy_sign(fma(factor, 0x1.ddcb02p-1, fma(t * square, p, t)), x);
}

// f64: the angle of (x, y), x and y >= 0 and not both 0; of (-x, y) if x_bits, as an integer, is negative.
Term angle_f64(Term y, Term x, Term x_bits) {
  const Term swapped = x < y;
  const Term larger = select(swapped, y, x), smaller = select(swapped, x, y);
  // The quotient or, beyond tan(pi/8), the one for the angle minus pi/4.
  const Term middle = larger * 0.41421356237309503 < smaller;
  const Term over = select(middle, smaller - larger, smaller);
  const Term under = select(middle, smaller + larger, larger);
  const Term over_lost = select(middle, smaller - (over + larger), 0.0);
  const Term under_lost = select(middle, smaller - (under - larger), 0.0);
  const Term inverse = 1 / under;
  const Term t = over * inverse;
  const Term square = t * t;
  // The rounding error of t.
  const Term lost = (fma(-t, under, over) + fma(-t, under_lost, over_lost)) * inverse;
  // (atan(t) - t) / t^3, relative error of atan 2^-59.4.
  const Term p = polynomial(
      square, {-0x1.555555555553dp-2, 0x1.9999999995863p-3, -0x1.24924922ad0bap-3, 0x1.c71c70e5e304cp-4,
               -0x1.745cf8d6785a5p-4, 0x1.3b1118a61404dp-4, -0x1.10ebb29fe82ep-4, 0x1.df0ef48ae7d31p-5,
               -0x1.9cd126da6e506p-5, 0x1.37d17cdd31d7dp-5, -0x1.2561051183ca7p-6});
  const Term small = fma(t * square, p, fma(-square, lost, lost));
  const Term negative = x_bits < 0;
  const Term quarters = select(middle, x.constant(1), 0.0);
  const Term right = select(swapped, 2 - quarters, quarters);
  const Term base = select(negative, 4 - right, right);
  const Term minus = swapped ^ negative;
  return from_quarters(base, select(minus, t, -t), select(minus, small, -small));
}

Term atan2_f64(Term y, Term x) {
  const Term a = abs(y), b = abs(x);
  const Term larger = select(b < a, a, b);
  // Infinities become 1 and finite numbers paired with them 0. Other numbers are scaled so that the sum, the
  // reciprocal and the correction of the quotient stay in range.
  const Term infinite = larger == kInfinity;
  const Term scale = select(larger > 0x1p1000, 0x1p-100, select(larger < 0x1p-900, x.constant(0x1p120), 1.0));
  const auto scaled = [&](Term v) {
    return select(infinite, select(v == kInfinity, 1.0, v * 0.0), v * scale);
  };
  // (0, 0) must become (0, 1).
  const Term other = select(larger == 0, 1.0, scaled(b));
  return copy_sign(angle_f64(scaled(a), other, as_bits(x)), y);
}

// In f64, where the quotient of two f32 neither overflows nor underflows.
Term atan2_f32(Term y, Term x) {
  // Infinities become so large that finite numbers vanish when added to them.
  const auto magnitude = [](Term v) { return min(0x1p400, cast(abs(v), kF64)); };
  const Term a = magnitude(y), b = magnitude(x);
  const Term swapped = b < a;
  const Term t = select(swapped, b, a) / max(0x1p-200, select(swapped, a, b));
  // atan(t) / t for t up to 1, relative error 2^-28.6.
  const Term p = polynomial(
      t * t, {0x1.ffffffeba3d2fp-1, -0x1.555533fadbd33p-2, 0x1.9990820a08d2fp-3, -0x1.241597d738be6p-3,
              0x1.c02f6675c6397p-4, -0x1.572236e44b3eap-4, 0x1.d7767b68008a9p-5, -0x1.f8b1d5990385fp-6,
              0x1.5f7dfecae251bp-7, -0x1.cbc47b6a637dcp-10});
  constexpr double kPi = 0x1.921fb54442d18p+1;
  const Term angle = t * p;
  const Term right = select(swapped, kPi / 2 - angle, angle);
  return copy_sign(cast(select(as_bits(x) < 0, kPi - right, right), kF32), y);
}

}  // namespace

Term asin(Term x) {
  const ArcSine arc = arc_sine(x);
  const Term base = select(arc.beyond, x.constant(2), 0.0);
  const Term factor = select(arc.beyond, x.constant(2), -1.0);
  return copy_sign(from_quarters(base, arc.s * factor, arc.small * factor), x);
}

Term acos(Term x) {
  // 2 asin(s), pi - 2 asin(s) or pi/2 - asin(x).
  const ArcSine arc = arc_sine(x);
  const Term negative = x < 0;
  const Term base = select(arc.beyond, select(negative, x.constant(4), 0.0), 2.0);
  const Term sign = select(arc.beyond ^ negative, x.constant(-1), 1.0);
  const Term factor = select(arc.beyond, sign * 2, sign);
  return from_quarters(base, arc.s * factor, arc.small * factor);
}

Term atan(Term x) {
  if (x.type() == kF32) return atan_f32(x);
  // Beyond 2^1000 the result no longer changes, and reciprocals would be denormal.
  const Term a = min(0x1p1000, abs(x));
  return copy_sign(angle_f64(a, x.constant(1), x.builder().constant(kI64, std::int64_t{0})), x);
}

Term atan2(Term y, Term x) { return x.type() == kF64 ? atan2_f64(y, x) : atan2_f32(y, x); }

Term hypot(Term x, Term y) {
  const Term infinite = (abs(x) == kInfinity) | (abs(y) == kInfinity);
  if (x.type() == kF32) {
    const Term a = cast(x, kF64), b = cast(y, kF64);  // squares stay in range
    return select(infinite, kInfinity, cast(sqrt(fma(a, a, b * b)), kF32));
  }
  const Term a = abs(x), b = abs(y);
  const Term swapped = a < b;
  const Term larger = select(swapped, b, a), smaller = select(swapped, a, b);
  // Scaling keeps the squares in range.
  const Term huge = larger > 0x1p500, tiny = larger < 0x1p-500;
  const Term scale = select(huge, 0x1p-600, select(tiny, x.constant(0x1p600), 1.0));
  const Term back = select(huge, 0x1p600, select(tiny, x.constant(0x1p-600), 1.0));
  const Term c = larger * scale, d = smaller * scale;
  // The sum is rounded once, up to a thousandth of that error, and the root halves its error.
  const Term square = c * c;
  const Term sum = square + fma(d, d, fma(c, c, -square));
  return select(infinite, kInfinity, sqrt(sum) * back);
}

}  // namespace pel::scalar
