// Whether both are nonzero, as bool. NaN counts as true.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_logical_and() {
  return binary("logical_and")
      .gives_bool()
      .formula([](Term a, Term b) { return cast(a, kBool) & cast(b, kBool); })
      .reference([](auto a, auto b) { return a != 0 && b != 0; })
      .reference_int([](WideInt a, WideInt b) { return a != 0 && b != 0; });
}
}  // namespace ops

PEL_DEFINE_BINARY(logical_and)

}  // namespace pel
