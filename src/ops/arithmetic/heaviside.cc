// The step: 0 below zero, 1 above it, and at zero what `values` says. 0 for NaN.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_heaviside() {
  return pointwise<const Tensor&, const Tensor&>("heaviside(Tensor self, Tensor values) -> Tensor")
      .formula([](Term x, Term values) { return select(x == 0, values, cast(x > 0, x.type())); })
      .reference([](auto x, auto values) { return x == 0  ? values
                                                  : x > 0 ? 1
                                                          : 0; })
      .reference_int([](WideInt x, WideInt values) { return x == 0  ? values
                                                            : x > 0 ? 1
                                                                    : 0; })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(heaviside)

}  // namespace pel
