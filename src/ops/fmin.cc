// The smaller one; NaN only if both are.
#include "ops/family_pointwise.h"

namespace pel {

namespace ops {
OpDef define_fmin() {
  return binary("fmin")
      .forms(Forms::Out)
      .formula([](Term a, Term b) {
        if (a.type() == kBool) return a & b;
        return is_floating(a.type()) ? select(is_nan(a), b, min(b, a)) : min(b, a);
      })
      .reference([](auto a, auto b) { return std::fmin(a, b); })
      .reference_int([](WideInt a, WideInt b) { return a < b ? a : b; });
}
}  // namespace ops

PEL_DEFINE_BINARY_PLAIN(fmin)
PEL_DEFINE_BINARY_OUT(fmin)

}  // namespace pel
