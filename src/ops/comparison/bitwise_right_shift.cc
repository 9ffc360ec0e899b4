// self >> other with the sign. An amount below 0, or of the width or more, leaves only the sign.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_bitwise_right_shift() {
  return binary("bitwise_right_shift")
      .computes(kIntegral)
      .formula([](Term a, Term b) {
        const std::int64_t last = 8 * size_bytes(a.type()) - 1;
        if (a.type() == kU8) return select(b <= last, a >> (b & last), 0);
        return a >> select((b >= 0) & (b < last), b, last);
      })
      .reference_int([](WideInt a, WideInt b) { return a >> (b < 0 || b >= 64 ? 64 : static_cast<int>(b)); })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(bitwise_right_shift)

}  // namespace pel
