#include <cstdint>

#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {
namespace {

using detail::exponent_unit;
using detail::reduce_log;
using detail::ReducedLogarithm;
using detail::Top;

// log(1 + f) - f + addend for f in [-0.293, 0.5]. With s = f / (2 + f) the logarithm is 2 s + s z R(z), z =
// s^2; arranged so that f^2 / 2, the largest term, is not rounded. The error of R relative to the logarithm
// is 2^-60.8.
Term tail_f64(Term f, Term addend) {
  const Term s = f / (f + 2);
  const Term z = s * s;
  const Term r =
      polynomial(z, {0x1.5555555555555p-1, 0x1.999999999ap-2, 0x1.24924923cdbe1p-2, 0x1.c71c72f00d137p-3,
                     0x1.745ca8007b58ap-3, 0x1.3b2a64928ee7cp-3, 0x1.0e821e3e46114p-3, 0x1.16e404dc086b1p-3});
  const Term minus_half = f * -0.5;
  return fma(minus_half, f, fma(s, fma(r, z, -(minus_half * f)), addend));
}

// The same for f in [-0.25, 0.5]; the error relative to the logarithm is 2^-27.6. A division would save five
// operations and take longer than they do.
Term tail_f32(Term f, Term addend) {
  const Term w = polynomial(f, {-0.5, 0x1.5555a4p-2, -0x1.000042p-2, 0x1.99696p-3, -0x1.54efp-3,
                                0x1.288714p-3, -0x1.0d95dap-3, 0x1.aca4d4p-4, -0x1.713ed6p-5});
  return fma(w, f * f, addend);
}

struct Base {
  detail::SplitConstant log_e, log_2;
};
// k log_2 + f log_e + rest.
Term log_to_base(const Base& base, ReducedLogarithm number, Term rest) {
  const auto [f, minus_k] = number;
  const double unit = exponent_unit(f.type());
  if (base.log_2.low != 0) rest = fma(minus_k, -base.log_2.low * unit, rest);
  return fma(minus_k, -base.log_2.high * unit, fma(f, base.log_e.high, rest));
}
Term log_to_base_f64(const Base& base, Term x) {
  const ReducedLogarithm number = reduce_log(x, Top::Sqrt2);
  const Term tail = tail_f64(number.f, number.f * (base.log_e.low / base.log_e.high));
  return detail::with_pole(x, 0, log_to_base(base, number, tail * base.log_e.high));
}
// `tail` is (log_base(1 + f) - f log_e) / f^2.
Term log_to_base_f32(const Base& base, ArrayView<double> tail, Term x) {
  const ReducedLogarithm number = reduce_log(x, Top::Sqrt2);
  const Term f = number.f;
  const Term rest = fma(polynomial(f, tail), f * f, f * base.log_e.low);
  return detail::with_pole(x, 0, log_to_base(base, number, rest));
}

}  // namespace

namespace detail {

double exponent_unit(DType type) { return type == kF64 ? 0x1p-52 : 0x1p-23; }

Term minus_exponent(Term bits, Top top) {
  const bool f64 = bits.type() == kI64;
  const std::int64_t one_and_half = f64 ? 0x3ff8000000000000 : 0x3fc00000;
  const std::int64_t sqrt2 = f64 ? 0x3ff6a09e667f3bcd : 0x3fb504f3;
  const std::int64_t exponent_mask = f64 ? -(std::int64_t{1} << 52) : -(1 << 23);
  return ((top == Top::Sqrt2 ? sqrt2 : one_and_half) - bits) & exponent_mask;
}

ReducedLogarithm reduce_log(Term x, Top top) {
  const DType type = x.type();
  const std::int64_t width = mantissa_width(type);
  const Term denormal = x < (type == kF64 ? 0x1p-1022 : 0x1p-126);
  const Term bits = as_bits(select(denormal, x * (type == kF64 ? 0x1p52 : 0x1p23), x));
  const Term minus_k = minus_exponent(bits, top);
  const Term f = bitcast(bits + minus_k, type) - 1;
  return {f, cast(select(denormal, minus_k + (width << width), minus_k), type)};
}

ReducedLogarithm reduce_log1p(Term x) {
  const DType type = x.type();
  const Term minus_k = minus_exponent(as_bits(x + 1), Top::OneAndHalf);
  // x 2^-k - (1 - 2^-k); for k = 0 it is x itself. The power is 0 for exponents below 2^-127 or 2^-1023,
  // where it has no effect.
  const Term scaled = bitcast(as_bits(x) + minus_k, type);
  const std::int64_t one = static_cast<std::int64_t>(exponent_bias(type)) << mantissa_width(type);
  const Term power = bitcast(max(0, minus_k + one), type);
  return {scaled - (1 - power), cast(minus_k, type)};
}

Term log(ReducedLogarithm number, std::optional<Term> correction) {
  const auto [f, minus_k] = number;
  const DType type = f.type();
  const double unit = exponent_unit(type);
  // As f32, ln 2 is accurate to a relative 2^-28.4: no second part is needed.
  const SplitConstant ln_2 = type == kF64 ? ln2(type) : SplitConstant{0x1.62e43p-1, 0};
  // high + low = k ln 2 + f, exactly. With k = 0 all of these are zeros with the sign of f.
  const Term high = fma(minus_k, -ln_2.high * unit, f);
  Term low = f - fma(minus_k, ln_2.high * unit, high);
  if (correction) low = low + *correction;
  return high + (type == kF64 ? tail_f64(f, fma(minus_k, -ln_2.low * unit, low)) : tail_f32(f, low));
}

Term with_pole(Term x, double pole, Term value) {
  const Term below = select(x == pole, -kInfinity, x.constant(kNaN));
  return select(x == kInfinity, x, select(x > pole, value, below));
}

}  // namespace detail

Term log(Term x) { return detail::with_pole(x, 0, detail::log(reduce_log(x, Top::OneAndHalf))); }

Term log1p(Term x) { return detail::with_pole(x, -1, detail::log(detail::reduce_log1p(x))); }

// The errors of the polynomials relative to the logarithm are 2^-26.5 and 2^-26.4.
Term log2(Term x) {
  if (x.type() == kF64) return log_to_base_f64({{0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56}, {1, 0}}, x);
  return log_to_base_f32({{0x1.715476p0, 0x1.4ae0cp-26}, {1, 0}},
                         {-0x1.71546ap-1, 0x1.ec709p-2, -0x1.715dcp-2, 0x1.278164p-2, -0x1.ea4384p-3,
                          0x1.a25dep-3, -0x1.8a020ap-3, 0x1.81f2cp-3, -0x1.c18bf6p-4},
                         x);
}

Term log10(Term x) {
  if (x.type() == kF64) {
    return log_to_base_f64(
        {{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}, {0x1.34413509f7p-2, 0x1.3fde623e2566bp-43}}, x);
  }
  return log_to_base_f32({{0x1.bcb7b2p-2, -0x1.5b235ep-27}, {0x1.344p-2, 0x1.3509f8p-18}},
                         {-0x1.bcb7a2p-3, 0x1.287a6ep-3, -0x1.bcc314p-4, 0x1.63d30ap-4, -0x1.2727acp-4,
                          0x1.f7bcdep-5, -0x1.da949ep-5, 0x1.d0ec0cp-5, -0x1.0e9464p-5},
                         x);
}

}  // namespace pel::scalar
