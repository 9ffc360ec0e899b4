// The remainder of self / other rounded down; it has the sign of other. An integer 0 divides with an error.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_remainder() {
  return binary("remainder")
      .computes(kFloating | kIntegral)
      .divides()
      .formula([](Term a, Term b) {
        const Term rest = a % b;
        if (a.type() == kU8) return rest;
        return select((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest);
      })
      .reference([](auto a, auto b) {
        const auto rest = std::fmod(std::abs(a), std::abs(b));  // from the side of self
        if (rest == 0 || std::signbit(a) == std::signbit(b)) return std::copysign(rest, a);
        return b + std::copysign(rest, a);
      })
      .reference_int([](WideInt a, WideInt b) { return (a % b + b) % b; })
      .vjp("self", "", [](const Vjp& v) { return v.grad(); })
      .vjp("other", "self other",
           [](const Vjp& v) { return -(v.grad() * floor_divide(v["self"], v["other"])); });
}
}  // namespace ops

PEL_DEFINE_BINARY(remainder)

}  // namespace pel
