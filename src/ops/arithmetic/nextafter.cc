// The next number after self towards other. Not for f16 and bf16, whose steps are not those of f32.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_nextafter() {
  return binary("nextafter")
      .computes({kF32, kF64})
      .formula([](Term x, Term y) {
        const Term bits = bitcast(x, x.type() == kF64 ? kI64 : kI32);
        const Term away_from_zero = (x < y) == (x > 0);  // where the bits grow, on both sides
        const Term moved = bitcast(select(away_from_zero, bits + 1, bits - 1), x.type());
        const Term least = copy_sign(bitcast(bits.constant(1), x.type()), y);
        const Term next = select(x == y, y, select(x == 0, least, moved));
        return select(is_nan(x) | is_nan(y), x + y, next);
      })
      .reference([](auto x, auto y) {
        using T = Computed<decltype(x)>;
        return std::nextafter(static_cast<T>(x), static_cast<T>(y));
      })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(nextafter)

}  // namespace pel
