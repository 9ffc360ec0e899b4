// The smaller one; NaN if one of them is.
#include "ops/shared/bounds.h"
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {

namespace ops {
OpDef define_minimum() {
  return binary("minimum")
      .forms(Forms::Out)
      .formula([](Term a, Term b) {
        if (a.type() == kBool) return a & b;
        return min_or_nan(a, b);
      })
      .reference([](auto a, auto b) { return a != a || a <= b ? a : b; })
      .reference_int([](WideInt a, WideInt b) { return a < b ? a : b; })
      .vjp("self", "self other",
           [](const Vjp& v) { return gradient_of_greater(v.grad(), v["other"], v["self"]); })
      .vjp("other", "self other",
           [](const Vjp& v) { return gradient_of_greater(v.grad(), v["self"], v["other"]); });
}
}  // namespace ops

PEL_DEFINE_BINARY_PLAIN(minimum)
PEL_DEFINE_BINARY_OUT(minimum)

}  // namespace pel
