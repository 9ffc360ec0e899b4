// Whether x is infinite; false for integers.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_isinf() {
  return unary("isinf")
      .gives_bool()
      .formula([](Term x) {
        return is_floating(x.type()) ? abs(x) == HUGE_VAL : x.builder().constant(kBool, std::int64_t{0});
      })
      .reference([](auto x) { return std::isinf(x); })
      .reference_int([](WideInt) { return false; })
      .forms(Forms::Plain);
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(isinf)

}  // namespace pel
