// self * other.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_mul() {
  return binary("mul")
      .formula([](Term a, Term b) { return a.type() == kBool ? a & b : a * b; })
      .reference([](auto a, auto b) { return a * b; })
      .reference_int([](WideInt a, WideInt b) { return a * b; })
      .vjp("self", "other", [](const Vjp& v) { return v.grad() * v["other"]; })
      .vjp("other", "self", [](const Vjp& v) { return v.grad() * v["self"]; });
}
}  // namespace ops

PEL_DEFINE_BINARY(mul)

}  // namespace pel
