// Range reduction multiplies the argument by 2/pi, or 1/pi, and uses only the bits that decide the result.
// Higher bits contribute multiples of full periods, lower bits are too small. A table indexed by the
// argument's exponent holds them, so one path serves all arguments up to the largest.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::as_bits;
using detail::to_integer;

// 2/pi, the bit of weight 1/2 first.
constexpr std::uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};

// Returns the bit of weight 2^weight.
std::int64_t bit_of_two_over_pi(int weight) {
  const int position = -1 - weight;
  return position < 0 ? 0 : static_cast<std::int64_t>(kTwoOverPi[position / 64] >> (63 - position % 64) & 1);
}

// Returns `count` bits of 2/pi from weight 2^top down, rounded to nearest: the piece below is negative if
// this one was rounded up. It has at most count - 1 bits and is at most 2^top, apart from the factor 2^scale.
double piece_of_two_over_pi(int top, int count, int scale) {
  std::int64_t units = -bit_of_two_over_pi(top);
  for (int weight = top; weight > top - count; --weight) units = 2 * units + bit_of_two_over_pi(weight);
  return std::ldexp(static_cast<double>(units + bit_of_two_over_pi(top - count)), top - count + 1 + scale);
}

Term sign_bit(Term bits) { return bits & bits.constant(std::int64_t{1} << 63); }

// x / (2^halvings pi/2) = leading + x * rest, modulo 2, in f64. `leading` is exact and at most
// 2^24, x * rest is at most 2^-6.
struct ReducedF32 {
  Term x, leading, rest;
};

// f32: x has 24 bits, so its product with a piece of 29 bits is exact. Both pieces together omit less than
// 2^-60, while the f32 closest to a multiple of pi/2 differs from it by 2^-30.
ReducedF32 reduce_f32(Term x, int halvings) {
  const auto table = [&](int below, int count) {
    std::vector<double> pieces(256);
    for (int field = 0; field < 256; ++field) {
      // The first row is one whose second piece is positive, so the sign of zero is preserved.
      const int exponent = std::max(field - 127, 1 - halvings);
      pieces[static_cast<std::size_t>(field)] =
          piece_of_two_over_pi(23 + halvings - exponent - below, count, -halvings);
    }
    return pieces;
  };
  const Term index = (as_bits(x) >> 23) & 255;
  const Term wide = cast(x, kF64);
  const Term leading = wide * x.builder().lookup(kF64, table(0, 30), index);
  return {wide, leading, x.builder().lookup(kF64, table(30, 54), index)};
}

// Computes sin(pi r) and flips the sign if the low bit of `odd` is set. |r| is at most 0.5 + 2^-6, because
// only `leading` was rounded to an integer; relative error 2^-27. Half periods need one polynomial, quarter
// periods two.
Term sin_pi_f32(Term r, Term odd) {
  const Term p = r * polynomial(r * r, {0x1.921fb512e7494p+1, -0x1.4abbbdaa25e0cp+2, 0x1.46680b983666bp+1,
                                        -0x1.323b0f5283a26p-1, 0x1.3c7faa172ac98p-4});
  return cast(bitcast(as_bits(p) ^ (odd << 63), kF64), kF32);
}

Term sin_f32(Term x) {
  const ReducedF32 reduced = reduce_f32(x, 1);
  const Term sum = reduced.leading + to_integer(kF64);
  const Term r = reduced.leading - (sum - to_integer(kF64));
  return sin_pi_f32(fma(reduced.x, reduced.rest, r), as_bits(sum));
}

// cos(pi t) = (-1)^n sin(pi r) with t = n - 1/2 + r.
Term cos_f32(Term x) {
  const ReducedF32 reduced = reduce_f32(x, 1);
  const Term sum = reduced.leading + 0.5 + to_integer(kF64);
  const Term r = reduced.leading - (sum - to_integer(kF64)) + 0.5;
  return sin_pi_f32(fma(reduced.x, reduced.rest, r), as_bits(sum));
}

Term tan_f32(Term x) {
  const ReducedF32 reduced = reduce_f32(x, 0);
  const Term sum = reduced.leading + to_integer(kF64);
  const Term r = fma(reduced.x, reduced.rest, reduced.leading - (sum - to_integer(kF64)));
  const Term square = r * r;
  // tan(pi/2 r) = r p(r^2) / q(r^2) for |r| <= 0.5 + 2^-6, relative error 2^-29: q is the denominator of the
  // continued fraction, p was fitted to it.
  const Term p = r * polynomial(square, {0x1.921fb550c98f3p+0, -0x1.b8fa71b5ca6bdp-2, 0x1.4ba11a03f3b8dp-7});
  const Term q = polynomial(square, {1, -0x1.18bc4418cafe2p+0, 0x1.8bd23188b34f9p-4});
  const Term odd = (as_bits(sum) & 1) != 0;
  return cast(select(odd, -q, p) / select(odd, p, q), kF32);
}

// high + low, where low is the smaller part.
struct Pair {
  Term high, low;
};
Pair two_sum(Term a, Term b) {
  const Term sum = a + b;
  const Term b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
Pair fast_two_sum(Term larger, Term smaller) {
  const Term sum = larger + smaller;
  return {sum, smaller - (sum - larger)};
}

struct Quadrant {
  Pair angle;   // |x| minus a multiple of pi/2, within pi/4
  Term number;  // the multiple in the low bits of an i64
};

// f64: four pieces, whose product with x is known to 2^-159; the f64 closest to a multiple of pi/2 differs
// from it by 2^-61.
Quadrant reduce_f64(Term x) {
  // Rows by exponent. From 2^512 on, x is scaled by 2^-512, because the last pieces would otherwise be
  // denormal.
  static const std::vector<std::vector<double>> kPieces = [] {
    std::vector<std::vector<double>> pieces(4, std::vector<double>(1024));
    for (int e = 0; e < 1024; ++e) {
      const int scale = e < 512 ? 0 : 512;
      const auto piece = [&](int top, int count) { return piece_of_two_over_pi(top - e, count, scale); };
      const auto row = static_cast<std::size_t>(e);
      pieces[0][row] = piece(53, 53);
      pieces[1][row] = piece(0, 54);
      pieces[2][row] = piece(-54, 54);
      pieces[3][row] = piece(-108, 54);
    }
    return pieces;
  }();
  const Term a = abs(x);
  const Term index = max((as_bits(a) >> 52) - 1023, 0) & 1023;
  const Term scaled = select(a < 0x1p512, a, a * 0x1p-512);
  const auto piece = [&](std::size_t number) { return x.builder().lookup(kF64, kPieces[number], index); };
  const auto product = [&](Term factor) {
    const Term high = scaled * factor;
    return Pair{high, fma(scaled, factor, -high)};
  };
  // The first product is a multiple of 2^-51 up to 2^54; multiples of 4 are dropped, and the sum is exact.
  const Pair p0 = product(piece(0));
  const Term s0 = fma(round(p0.high * 0.25), -4, p0.high) + p0.low;
  const Pair p1 = product(piece(1));  // at most 2
  const Pair p2 = product(piece(2));  // at most 2^-53
  const Term sum = s0 + p1.high + to_integer(kF64);
  const Pair first = two_sum(s0 - (sum - to_integer(kF64)), p1.high);
  const Pair second = two_sum(p1.low, p2.high);
  const Pair both = two_sum(first.high, second.high);
  const Term rest = both.low + (first.low + (second.low + fma(scaled, piece(3), p2.low)));
  const Pair reduced = fast_two_sum(both.high, rest);
  // Times pi/2.
  constexpr double kHigh = 0x1.921fb54442d18p+0, kLow = 0x1.1a62633145c07p-54;
  const Term high = reduced.high * kHigh;
  const Term low = fma(reduced.high, kHigh, -high) + fma(reduced.high, kLow, reduced.low * kHigh);
  const Term small = a < 0.785;
  return {{select(small, a, high), select(small, 0.0, low)}, as_bits(sum)};
}

// Return unevaluated sums, so that callers round once.
Pair sin_f64(Pair angle, Term square) {
  // sin(y) = y + y^3 p(y^2) for |y| <= pi/4, relative error 2^-58.
  const Term p = polynomial(square, {-0x1.5555555555549p-3, 0x1.111111110f8a6p-7, -0x1.a01a019c16113p-13,
                                     0x1.71de357b0bf95p-19, -0x1.ae5e688c481ecp-26, 0x1.5d939d62650f9p-33});
  return {angle.high, fma(angle.high * square, p, angle.low * fma(square, -0.5, 1))};
}
Pair cos_f64(Pair angle, Term square) {
  // cos(y) = 1 - y^2/2 + y^4 p(y^2), relative error 2^-64.
  const Term p = polynomial(square, {0x1.555555555554cp-5, -0x1.6c16c16c1522p-10, 0x1.a01a019cbf833p-16,
                                     -0x1.27e4f812ce0acp-22, 0x1.1ee9f160ef0e7p-29, -0x1.8fb13721ad76p-37});
  const Term half = square * 0.5;
  const Term high = 1 - half;
  const Term lost = fma(p * square, square, -(angle.high * angle.low));
  return {high, (1 - high - half) + lost};
}

// Returns the sine of the angle in the given quadrant, negated if `sign` is negative.
Term sin_of(const Quadrant& x, Term quadrant, Term sign) {
  const Term square = x.angle.high * x.angle.high;
  const Pair s = sin_f64(x.angle, square), c = cos_f64(x.angle, square);
  const Term odd = (quadrant & 1) != 0;
  const Term value = select(odd, c.high, s.high) + select(odd, c.low, s.low);
  return bitcast(as_bits(value) ^ sign_bit((quadrant << 62) ^ sign), kF64);
}

Term tan_f64(Term x) {
  const Quadrant reduced = reduce_f64(x);
  const Term square = reduced.angle.high * reduced.angle.high;
  const Pair s = sin_f64(reduced.angle, square), c = cos_f64(reduced.angle, square);
  const Term odd = (reduced.number & 1) != 0;
  const Pair over = fast_two_sum(select(odd, c.high, s.high), select(odd, c.low, s.low));
  const Pair under = fast_two_sum(select(odd, s.high, c.high), select(odd, s.low, c.low));
  const Term inverse = 1 / under.high;
  const Term quotient = over.high * inverse;
  const Term rest = fma(-quotient, under.high, over.high) + fma(-quotient, under.low, over.low);
  const Term value = fma(rest, inverse, quotient);
  return bitcast(as_bits(value) ^ sign_bit((reduced.number << 63) ^ as_bits(x)), kF64);
}

}  // namespace

Term sin(Term x) {
  if (x.type() == kF32) return sin_f32(x);
  const Quadrant reduced = reduce_f64(x);
  return sin_of(reduced, reduced.number, as_bits(x));
}

Term cos(Term x) {
  if (x.type() == kF32) return cos_f32(x);
  const Quadrant reduced = reduce_f64(x);
  return sin_of(reduced, reduced.number + 1, as_bits(abs(x)));
}

Term tan(Term x) { return x.type() == kF32 ? tan_f32(x) : tan_f64(x); }

}  // namespace pel::scalar
