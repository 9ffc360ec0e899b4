// Whether the sign is set: also of -0 and NaN.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_signbit() {
  return unary("signbit")
      .gives_bool()
      .formula([](Term x) {
        if (x.type() == kBool) return x ^ x;
        return is_floating(x.type()) ? bitcast(x, x.type() == kF64 ? kI64 : kI32) < 0 : x < 0;
      })
      .reference([](auto x) { return std::signbit(x); })
      .reference_int([](WideInt x) { return x < 0; })
      .forms(Forms::Out);
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(signbit)
PEL_DEFINE_UNARY_OUT(signbit)

}  // namespace pel
