// Whether x is +infinity; false for integers.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_isposinf() {
  return unary("isposinf")
      .gives_bool()
      .formula([](Term x) {
        return is_floating(x.type()) ? x == HUGE_VAL : x.builder().constant(kBool, std::int64_t{0});
      })
      .reference([](auto x) { return std::isinf(x) && x > 0; })
      .reference_int([](WideInt) { return false; })
      .forms(Forms::Out);
}
}  // namespace ops

PEL_DEFINE_UNARY_PLAIN(isposinf)
PEL_DEFINE_UNARY_OUT(isposinf)

}  // namespace pel
