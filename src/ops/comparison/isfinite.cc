// Whether x is neither infinite nor NaN; true for integers.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_isfinite() {
  return unary("isfinite")
      .gives_bool()
      .formula([](Term x) {
        return is_floating(x.type()) ? abs(x) < HUGE_VAL : x.builder().constant(kBool, std::int64_t{1});
      })
      .reference([](auto x) { return std::isfinite(x); })
      .reference_int([](WideInt) { return true; })
      .forms(Forms::Plain);
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(isfinite)

}  // namespace pel
