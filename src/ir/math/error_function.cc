#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::as_bits;
using detail::kInfinity;
using detail::kLog2E;
using detail::power_of_two;
using detail::power_offset;

// Two polynomials and two squarings: 24 operations without a division or an exponential.
Term erf_f32(Term x) {
  // erf(x) = x + x p(x^2) below 1.125; relative error 2^-27.2.
  const Term p = polynomial(x * x, {0x1.06eba8p-3, -0x1.81272ep-2, 0x1.ce2984p-4, -0x1.b7bbdcp-6,
                                    0x1.522ec8p-8, -0x1.9726c4p-11, 0x1.2843d4p-14});
  // erfc(|x|) = q(|x|)^4 from there to 3.925, where 1 - erfc rounds to 1; absolute error 2^-26.7. The fourth
  // root needs degree 7; erfc itself would need 13. Expanded around another point than 0, the error is 0.05
  // ULP smaller.
  const Term a = abs(x);
  const Term q = polynomial(min(3.925, a), {0x1.01685ep+0, -0x1.3c329ap-2, -0x1.03c92p-4, -0x1.9d8a4p-5,
                                            0x1.0ed6b8p-4, -0x1.6bf2f4p-6, 0x1.a7eb54p-9, -0x1.787058p-13});
  const Term square = q * q;
  const Term large = as_bits(fma(-square, square, 1));
  const Term sign = as_bits(x) & x.builder().bits(kI32, 0x80000000);
  return select(a < 1.125, fma(p, x, x), bitcast(large | sign, kF32));
}

// erfc(x) = 2^(p(|x|) - x^2 log2(e)) for x > 0. f64 holds the range of the result, so only the cast rounds
// denormals. In 1 / (x + k) degree 10 would suffice instead of 18, but that division takes longer.
Term erfc_f32(Term x) {
  // At 10.0625 erfc is below half of the smallest denormal.
  const Term a = cast(min(10.0625, abs(x)), kF64);
  // log2(e^(x^2) erfc(x)) around 5; erfc has a relative error of 2^-26.9.
  const Term p = polynomial(
      a - 5, {-0x1.966d5c8367169p+1, -0x1.1cadf9c7675f3p-2, 0x1.a7e3291fd539ap-6, -0x1.970f23686c225p-9,
              0x1.a9b1f1a0cc706p-12, -0x1.cc0a6bb82ffd4p-15, 0x1.f7b9d2f50bcap-18, -0x1.0fb775c46ad0ep-20,
              0x1.0f49084995b63p-23, -0x1.249bccd7268cfp-26, 0x1.b781d28bd4188p-29, -0x1.72ff331577fdp-32,
              -0x1.61eb57c44bcdcp-35, 0x1.09ef4b9049cd5p-38, 0x1.90ad0f2edb24p-39, -0x1.69b36a5964011p-42,
              -0x1.a775e08dd57c6p-45, 0x1.2622ed68e3e26p-47, -0x1.2270a4ebe9244p-52});
  const Term y = fma(a * a, -kLog2E, p);
  const Term sum = y + power_offset(kF64);
  const Term r = y - (sum - power_offset(kF64));
  // 2^r for |r| <= 0.5, relative error 2^-29.
  const Term power =
      polynomial(r, {0x1.ffffffff4e1bap-1, 0x1.62e430d04380ep-1, 0x1.ebfbe10e143b7p-3, 0x1.c6aecc579b4b2p-5,
                     0x1.3b299606b5a48p-7, 0x1.5f48c64ba1269p-10, 0x1.4498f1ca80bdfp-13});
  const Term value = power * power_of_two(as_bits(sum));
  return cast(select(x < 0, 2 - value, value), kF32);
}

// f64: below this, erf(x) = x + x p(x^2); above it, erfc has its own formula.
constexpr double kTail = 0.8125;

// erf(x) / x - 1 below kTail; erf has a relative error of 2^-56.
Term erf_ratio_less_1(Term x) {
  return polynomial(
      x * x, {0x1.06eba8214db68p-3, -0x1.812746b037999p-2, 0x1.ce2f21a03f134p-4, -0x1.b82ce311620f9p-6,
              0x1.565bccdd019dp-8, -0x1.c02daa0fb6731p-11, 0x1.f9a1e13e58687p-14, -0x1.f4b7212e26917p-17,
              0x1.b86a6f41c4b07p-20, -0x1.5251503606a54p-23, 0x1.74f62b86412c7p-27});
}

// erfc(a) = e^(-a^2) u p(u), u = 1 / (a + 3), for a from kTail to 27.3, where it is below half of the
// smallest denormal; relative error of p 2^-55.4.
Term erfc_tail(Term a) {
  // u is corrected by the error of its two roundings, because p multiplies that error by up to 2.4.
  const Term b = a + 3;
  const Term u = 1 / b;
  const Term u_lost = u * fma(b - 3 - a, u, fma(-u, b, 1));
  const Term p = polynomial(
      u - 0.1484375 + u_lost,
      {0x1.f7d64f6a3344ap-1,   0x1.25b0a9faa0c28p+2,   0x1.1e082553677b8p+4,  0x1.c3b31882086d6p+5,
       0x1.0f91ac6ca295ep+7,   0x1.a26ebba5bc57fp+7,   0x1.4fe0a92f31d93p+5,  -0x1.575e2b54eeb97p+9,
       -0x1.3e2014b4a55dcp+10, 0x1.6c302070de648p+10,  0x1.e780d936f985ep+12, -0x1.996797d5fcf4fp+10,
       -0x1.60af168e007f9p+15, -0x1.3536d9d3ebfc4p+12, 0x1.14f659cc89e93p+18, 0x1.1ef18c43e7da8p+14,
       -0x1.c4a48e3662a37p+20, 0x1.4b6c2861f7c3dp+18,  0x1.19e75e37d972cp+23, -0x1.6c66f1060faf6p+21});
  const Term scale = fma(p, u, p * u_lost);
  const Term square = a * a;
  const Term lost = fma(a, a, -square);
  // Powers are 2^64 too large until the last product, so that it alone rounds denormals.
  const double offset = power_offset(kF64) + 64;
  const Term sum = fma(square, -kLog2E, offset);
  const Term k = sum - offset;
  const detail::SplitConstant ln2 = detail::ln2(kF64);
  const Term r = fma(k, -ln2.high, -square) - fma(k, ln2.low, lost);
  // e^r = 1 + r + r^2 q(r) for |r| <= 0.3475, relative error 2^-58.
  const Term q =
      polynomial(r, {0x1.000000000000cp-1, 0x1.555555555555cp-3, 0x1.555555554fd82p-5, 0x1.111111110e87cp-7,
                     0x1.6c16c18634b85p-10, 0x1.a01a01b516fffp-13, 0x1.a019951fa6c58p-16,
                     0x1.71ddec20e7ce7p-19, 0x1.28b19bcb57c74p-22, 0x1.af72bd9e521e8p-26});
  return fma(scale, fma(q, r * r, r), scale) * power_of_two(as_bits(sum)) * 0x1p-64;
}

Term erf_f64(Term x) {
  const Term a = abs(x);
  // For a >= 6, 1 - erfc(a) is 1.
  const Term large = copy_sign(1 - erfc_tail(min(6, a)), x);
  return select(a < kTail, fma(erf_ratio_less_1(x), x, x), large);
}

Term erfc_f64(Term x) {
  const Term a = abs(x);
  const Term tail = erfc_tail(min(27.3, a));
  // 1 - x is exact if the result is below 0.5.
  const Term central = fma(erf_ratio_less_1(x), -x, 1 - x);
  return select(a < kTail, central, select(x < 0, 2 - tail, tail));
}

// erfinv(x) = x p(w), w = -log(1 - x^2): p is smooth, and all of the growth near 1 is in w.
Term erfinv_f32(Term x) {
  const Term wide = cast(x, kF64);
  // w is at most 15.95 between the poles; relative error 2^-29.2.
  const Term w = -log(fma(-wide, wide, 1));
  const Term p = polynomial(
      w - 8, {0x1.54aa0578ac92ap+1, 0x1.692e02df9ee7dp-3, -0x1.4b501571c33d1p-8, 0x1.017a72e192adfp-12,
              -0x1.2ae744a2dd25ep-17, -0x1.017342cc95dcp-21, 0x1.5a0a72abcecb9p-23, -0x1.7c0fcff8509dbp-26,
              0x1.096949c0f2401p-29, -0x1.57119bd1072b9p-34, -0x1.434b14faff725p-40, 0x1.4884c4eded972p-42,
              -0x1.ce4d4724d75f9p-43, 0x1.781ec0516f7edp-45, -0x1.884f94e9a5dfap-51, -0x1.063aadc2c16a9p-51,
              0x1.e19a6fb680f9cp-56, 0x1.b2e370130061cp-60, -0x1.0d067ed36858cp-63});
  return select(abs(x) == 1, x * kInfinity, cast(wide * p, kF32));
}

Term erfinv_f64(Term x) {
  const Term w = -log(fma(-x, x, 1));
  // w < 5, relative error 2^-54.4.
  const Term central = polynomial(
      w - 2.5,
      {0x1.805c5cfcedef5p+0,   0x1.f91e8993f0d14p-3,   -0x1.11c3c302e02f8p-8,  -0x1.4863cdfb61ad1p-10,
       0x1.c9b437ed432e8p-13,  -0x1.4f47fe716ede7p-18, -0x1.ca9227cdab44fp-19, 0x1.01037e1d9d82ap-21,
       0x1.ccff6d661c9f8p-27,  -0x1.752fd368b647ap-27, 0x1.f2cc49a569eep-31,   0x1.0703bed26a04ap-33,
       -0x1.119bef60be5d3p-35, 0x1.00c336ed88p-40,     0x1.2e24122c1c9c8p-41,  -0x1.577abc9fff8bdp-44,
       -0x1.c120553c865acp-49, 0x1.141090a8d3136p-49,  -0x1.e7bf64ee97f1ap-54, -0x1.04540f572c841p-55,
       0x1.8a8e08364f9ap-59,   0x1.f97a290486183p-63});
  const Term root = sqrt(w);
  // w from 5 to 16, relative error 2^-54.4.
  const Term middle = polynomial(
      root - 3.125,
      {0x1.7aaa3c1430b73p+1,   0x1.00f3b54ba7ef2p+0,   0x1.cde3e1149ce82p-8,   -0x1.5b6833330f7c1p-8,
       0x1.f1579bbd8f20ep-9,   -0x1.4a493b7b990e5p-9,  0x1.4a7a1fdb693b6p-10,  -0x1.58a096c625861p-12,
       -0x1.779d34ab618f9p-14, 0x1.1d6ee4f090c17p-13,  -0x1.edafceceb8154p-15, 0x1.2505bdf7a9cefp-19,
       0x1.7e82fee574207p-17,  -0x1.a4ab8272a5522p-18, 0x1.e48bac1a6cf8bp-21,  0x1.8f495711e44eep-21,
       -0x1.2a351a1819cf7p-21, 0x1.2ca7de6bb964ep-23,  0x1.c07418a369d98p-25,  -0x1.a531f20ab9bf9p-25,
       0x1.c48fb675de341p-29,  0x1.3a6d15aeff42cp-28});
  // w from 16 to 36.1, the largest between the poles; relative error 2^-55.7.
  const Term outer = polynomial(
      root - 5, {0x1.3664ddd1ad7fbp+2, 0x1.02a30d1fba10bp+0, -0x1.22ea5df203069p-13, -0x1.c2f36aa172cc1p-13,
                 0x1.3ebf4f030afbep-14, -0x1.4a3490197a5f1p-16, 0x1.2fbcf97f5115fp-18, -0x1.0a90543ca2af1p-20,
                 0x1.ebe54e96fbef4p-23, -0x1.222d474474509p-24, 0x1.f25ccd83b60b1p-26, -0x1.05e7291001f39p-26,
                 0x1.0d46c2a24cffep-27, -0x1.de845e630f44bp-29, 0x1.65db71c7fab11p-30, -0x1.db080f133f487p-32,
                 0x1.50b1f49216cafp-34, 0x1.6e59b45404c1ep-35, -0x1.803fa480863ebp-36});
  const Term p = select(w < 5, central, select(w < 16, middle, outer));
  return select(abs(x) == 1, x * kInfinity, x * p);
}

}  // namespace

Term erf(Term x) { return x.type() == kF64 ? erf_f64(x) : erf_f32(x); }
Term erfc(Term x) { return x.type() == kF64 ? erfc_f64(x) : erfc_f32(x); }
Term erfinv(Term x) { return x.type() == kF64 ? erfinv_f64(x) : erfinv_f32(x); }

}  // namespace pel::scalar
