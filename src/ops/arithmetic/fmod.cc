// The remainder of self / other rounded towards zero: the sign of self. An integer 0 divides with an error.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_fmod() {
  return binary("fmod")
      .computes(kFloating | kIntegral)
      .divides()
      .formula([](Term a, Term b) { return a % b; })
      .reference([](auto a, auto b) { return std::fmod(a, b); })
      .reference_int([](WideInt a, WideInt b) { return a % b; })
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .vjp("other", "self other",
           [](const Vjp& v) { return -(v.grad() * trunc_divide(v["self"], v["other"])); });
}
}  // namespace ops

PEL_DEFINE_BINARY(fmod)

}  // namespace pel
