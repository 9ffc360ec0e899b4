// self <= other, as bool. False for NaN.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_le() {
  return binary("le")
      .gives_bool()
      .formula([](Term a, Term b) { return a <= b; })
      .reference([](auto a, auto b) { return a <= b; })
      .reference_int([](WideInt a, WideInt b) { return a <= b; });
}
}  // namespace ops

PEL_DEFINE_BINARY(le)

}  // namespace pel
