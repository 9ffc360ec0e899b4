// Building blocks that several expansions share.
#pragma once

#include <optional>

#include "ir/scalar.h"

namespace pel::scalar::detail {

// The integer type of a floating type's width, and the fields of its bits.
inline DType bits_type(DType type) { return type == kF64 ? kI64 : kI32; }
inline int mantissa_width(DType type) { return type == kF64 ? 52 : 23; }
inline int exponent_bias(DType type) { return type == kF64 ? 1023 : 127; }
inline Term as_bits(Term x) { return bitcast(x, bits_type(x.type())); }

// x + to_integer rounds x to an integer (|x| < 2^21 or 2^50) and leaves it in the low bits of the sum: one
// addition produces both; Round and Cast would be two operations, the second with a saturation.
inline double to_integer(DType type) { return type == kF64 ? 0x1.8p52 : 0x1.8p23; }

// 2^n for n in [-126, 127], or [-1022, 1023], from the bits of the sum n + power_offset(type).
inline double power_offset(DType type) { return to_integer(type) + exponent_bias(type); }
inline Term power_of_two(Term sum_bits) {
  const DType type = sum_bits.type() == kI64 ? kF64 : kF32;
  return bitcast(sum_bits << mantissa_width(type), type);
}

inline constexpr double kLog2E = 0x1.71547652b82fep0;
inline constexpr double kInfinity = __builtin_inf();
inline constexpr double kNaN = __builtin_nan("");

// ln 2 in two parts. `high` has enough trailing zero bits that its products with exponents are exact. `low`
// is positive; the sign of zeros in expm1 depends on that.
struct SplitConstant {
  double high, low;
};
inline SplitConstant ln2(DType type) {
  return type == kF64 ? SplitConstant{0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42}
                      : SplitConstant{0x1.62e4p-1, 0x1.7f7d1cp-20};
}

// e^(factor x) = significand * 2^k, power = 2^(k + offset), which must be a normal number. `factor` is a
// power of two.
struct ReducedExponential {
  Term significand;  // in [0.707, 1.415]
  Term power;
};
ReducedExponential reduce_exp(Term x, double factor, int offset);

// 2^k with k = round(scale * x), as a product of two powers of about 2^(k/2): a normal number times the first
// is exact, and the second product rounds once, to a denormal or to infinity if necessary.
struct SplitPower {
  Term k, first, second;
};
SplitPower split_power(Term x, double scale);
// Coefficients of e^r for |r| <= 0.3469, and of 2^f for |f| <= 0.5.
ArrayView<double> exp_coefficients(DType type);
ArrayView<double> exp2_coefficients(DType type);

// Upper end of the range of 1 + f, where a number is 2^k (1 + f); the lower end is half of it. With 1.5,
// x 2^-k - (1 - 2^-k) is exact near 0; with sqrt(2), log(1 + f) is at most half of k log 2.
enum class Top { OneAndHalf, Sqrt2 };
struct ReducedLogarithm {
  Term f;
  Term minus_k;  // -k * 2^23 or 2^52: the exponent at its position in the bits, as a float
};
double exponent_unit(DType type);              // 2^-23 or 2^-52
Term minus_exponent(Term bits, Top top);       // minus_k, before the cast, of a normal number
ReducedLogarithm reduce_log(Term x, Top top);  // of a positive, finite number
ReducedLogarithm reduce_log1p(Term x);         // of 1 + x with OneAndHalf, for -1 < x < inf
// Computes the logarithm for OneAndHalf. `correction` is added before the last rounding.
Term log(ReducedLogarithm number, std::optional<Term> correction = std::nullopt);
// Returns log, or log1p with its pole at -1, from the value for finite arguments above the pole.
Term with_pole(Term x, double pole, Term value);

inline Term clamp(Term x, double low, double high) { return max(low, min(high, x)); }  // NaN stays

}  // namespace pel::scalar::detail
