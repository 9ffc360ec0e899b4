// |x|. The smallest integer stays as it is, and so does bool.
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_abs() {
  return unary("abs")
      .formula([](Term x) { return x.type() == kBool ? x : abs(x); })
      .reference([](auto x) { return std::abs(x); })
      .reference_int([](WideInt x) { return x < 0 ? -x : x; })
      .vjp("self", "self", [](const Vjp& v) { return v.grad() * sgn(v["self"]); });
}
}  // namespace ops

PEL_DEFINE_UNARY(abs)

}  // namespace pel
