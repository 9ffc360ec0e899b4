#include <cstdint>
#include <limits>

#include "base/check.h"
#include "ir/math.h"
#include "ir/math/parts.h"

namespace pel::scalar {

Term polynomial(Term x, ArrayView<double> coefficients) {
  PEL_ASSERT(!coefficients.empty(), "a polynomial must have a constant term");
  Term sum = x.constant(coefficients[coefficients.size() - 1]);
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = fma(sum, x, coefficients[i]);
  return sum;
}

Term copy_sign(Term magnitude, Term sign) {
  const DType type = magnitude.type();
  const DType bits = detail::bits_type(type);
  const std::int64_t sign_bit =
      type == kF64 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int32_t>::min();
  return bitcast(bitcast(abs(magnitude), bits) | (bitcast(sign, bits) & sign_bit), type);
}

Term ldexp(Term x, Term exponent) {
  const DType type = x.type();
  const double top = detail::exponent_bias(type), bottom = 1 - top;
  // From the largest number down to half of the smallest denormal, or from there up beyond the largest, takes
  // three powers. The last one takes as much as it can. If the others made a number denormal, and so rounded
  // it, the result is below half of the smallest denormal. Upwards, all products are exact.
  const double reach = 2 * top + detail::mantissa_width(type) + 2;
  const Term n = max(x.constant(-reach), min(x.constant(reach), exponent));
  const Term last = max(bottom, min(top, n));
  const Term rest = n - last;
  const Term second = max(bottom, min(top, rest));
  const Term first = rest - second;
  const auto power = [&](Term e) {
    return detail::power_of_two(detail::as_bits(e + detail::power_offset(type)));
  };
  return x * power(first) * power(second) * power(last);
}

}  // namespace pel::scalar
