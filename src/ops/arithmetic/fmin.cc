// The smaller one; NaN only if both are.
#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

Tensor fmin_takes_self(const Vjp& v) {
  return logical_or(le(v["self"], v["other"]), isnan(as_tensor_for(v.grad(), v["other"])));
}

}  // namespace

namespace ops {
OpDef define_fmin() {
  return binary("fmin")
      .forms(Forms::Out)
      .formula([](Term a, Term b) {
        if (a.type() == kBool) return a & b;
        return is_floating(a.type()) ? select(is_nan(a), b, min(b, a)) : min(b, a);
      })
      .reference([](auto a, auto b) { return std::fmin(a, b); })
      .reference_int([](WideInt a, WideInt b) { return a < b ? a : b; })
      .vjp("self", "self other", [](const Vjp& v) { return where(fmin_takes_self(v), v.grad(), 0); })
      .vjp("other", "self other", [](const Vjp& v) { return masked_fill(v.grad(), fmin_takes_self(v), 0); });
}
}  // namespace ops

PEL_DEFINE_BINARY_PLAIN(fmin)
PEL_DEFINE_BINARY_OUT(fmin)

}  // namespace pel
