// Whether x is NaN; false for integers.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_isnan() {
  return unary("isnan")
      .gives_bool()
      .formula([](Term x) { return is_nan(x); })
      .reference([](auto x) { return std::isnan(x); })
      .reference_int([](WideInt) { return false; })
      .forms(Forms::Plain);
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(isnan)

}  // namespace pel
