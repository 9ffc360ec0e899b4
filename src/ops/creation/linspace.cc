// Evenly spaced values from start to end, both included. Counted from both ends, so that the last is exact.
#include "pellucid/ops.h"

#include "base/check.h"
#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor linspace_body(const Op& op, const Scalar& start, const Scalar& end, std::int64_t steps,
                     std::optional<DType> dtype, std::optional<Device> device) {
  PEL_CHECK(steps >= 0, ValueError, "the number of steps is {}, and must not be negative", steps);
  Tensor result = make_dense({steps}, dtype.value_or(kF32), device.value_or(kCpu));
  launch(op, {result}, {}, {start, end});
  return result;
}

}  // namespace

namespace ops {
OpDef define_linspace() {
  return define_op<linspace_body>(
      OpKind::Kernel,
      "linspace(Scalar start, Scalar end, int steps, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps, TensorOptions options,
                Site site) {
  return call<"linspace", linspace_body>(site, start, end, steps, options.dtype, options.device);
}

}  // namespace pel
