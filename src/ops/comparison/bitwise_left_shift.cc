// self << other. The result is 0 for an amount below 0, or of the width or more.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_bitwise_left_shift() {
  return binary("bitwise_left_shift")
      .computes(kIntegral)
      .formula([](Term a, Term b) {
        const std::int64_t width = 8 * size_bytes(a.type());
        const Term inside = a << (b & (width - 1));
        return select((b >= 0) & (b < width), inside, 0);
      })
      // Beyond the width of a narrow type the bits are shifted out of it, too.
      .reference_int([](WideInt a, WideInt b) { return b < 0 || b >= 64 ? 0 : a << static_cast<int>(b); })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(bitwise_left_shift)

}  // namespace pel
