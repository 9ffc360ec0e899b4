// self / other rounded towards zero. An integer 0 divides with an error.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_trunc_divide() {
  return binary("trunc_divide")
      .computes(kFloating | kIntegral)
      .divides()
      .formula([](Term a, Term b) { return is_floating(a.type()) ? trunc(a / b) : a / b; })
      // Of the rounded quotient, as in PyTorch.
      .reference([](auto a, auto b) {
        using T = Computed<decltype(a)>;
        return std::trunc(static_cast<T>(a) / static_cast<T>(b));
      })
      .reference_int([](WideInt a, WideInt b) { return a / b; })
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(trunc_divide)

}  // namespace pel
