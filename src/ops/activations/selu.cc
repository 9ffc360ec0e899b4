// scale x, below 0 scale alpha (e^x - 1), with the constants of self-normalizing networks.
#include "ops/shared/pointwise.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {
constexpr double kAlpha = 1.6732632423543772848170429916717;
constexpr double kScale = 1.0507009873554804934193349852946;
}  // namespace

namespace ops {
OpDef define_selu() {
  return unary("selu")
      .computes(kFloating)
      .formula([](Term x) { return select(x < 0, expm1(x) * (kScale * kAlpha), x * kScale); })
      .reference([](auto x) {
        using T = decltype(x);
        return x < 0 ? T(kScale * kAlpha) * std::expm1(x) : T(kScale) * x;
      })
      .max_ulp(3)
      .domain(-20, 20)
      .vjp("self", "self",
           [](const Vjp& v) { return elu_gradient(v.grad(), v["self"], {kAlpha, kScale, 1}); });
}
}  // namespace ops

PEL_DEFINE_UNARY(selu)

}  // namespace pel
