// self / other rounded down. An integer 0 divides with an error.
#include "ops/shared/pointwise.h"

namespace pel {
namespace {

Term floor_of_integers(Term a, Term b) {
  const Term quotient = a / b;
  if (a.type() == kU8) return quotient;
  const Term rest = a - quotient * b;
  return select((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient);
}

// By the exact remainder, so that a quotient that rounds up to an integer is not taken for one.
Term floor_of_floats(Term a, Term b) {
  const Term rest = a % b;
  const Term multiple = (a - rest) / b;
  const Term quotient = select((rest != 0) & ((rest < 0) != (b < 0)), multiple - 1, multiple);
  const Term down = floor(quotient);
  const Term whole = select(quotient - down > 0.5, down + 1, down);
  const Term ratio = a / b;
  return select(b == 0, ratio, select(quotient == 0, copy_sign(a.constant(0), ratio), whole));
}

}  // namespace

namespace ops {
OpDef define_floor_divide() {
  return binary("floor_divide")
      .computes(kFloating | kIntegral)
      .divides()
      .formula([](Term a, Term b) {
        return is_floating(a.type()) ? floor_of_floats(a, b) : floor_of_integers(a, b);
      })
      .reference([](auto a, auto b) {
        const auto rest = std::fmod(a, b);
        if (b == 0 || rest != rest) return b == 0 ? a / b : rest;
        const auto whole = std::nearbyint((a - rest) / b);
        const auto down = rest != 0 && std::signbit(a) != std::signbit(b) ? whole - 1 : whole;
        return down == 0 ? std::copysign(down, a / b) : down;
      })
      .reference_int([](WideInt a, WideInt b) { return (a - (a % b + b) % b) / b; })
      .max_ulp(2)
      .not_differentiable();
}
}  // namespace ops

PEL_DEFINE_BINARY(floor_divide)

}  // namespace pel
