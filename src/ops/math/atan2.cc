// The angle of the point (other, self), from -pi to pi.
#include "ops/shared/numbers.h"
#include "ops/shared/pointwise.h"

namespace pel {

namespace ops {
OpDef define_atan2() {
  return binary("atan2")
      .floating()
      .formula([](Term y, Term x) { return atan2(y, x); })
      .reference([](auto y, auto x) { return std::atan2(y, x); })
      .max_ulp(1.5)
      .vjp("self other", "self other", [](const Vjp& v) {
        const Tensor y = as_tensor_for(v.grad(), v["self"]), x = as_tensor_for(v.grad(), v["other"]);
        const Tensor share = v.grad() / (x * x + y * y);
        return std::vector<Tensor>{v.wants("self") ? share * x : Tensor(),
                                   v.wants("other") ? -(share * y) : Tensor()};
      });
}
}  // namespace ops

PEL_DEFINE_BINARY(atan2)

}  // namespace pel
