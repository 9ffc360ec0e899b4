// The count of each integer in a tensor, or the sum of its weights. The largest integer is read back to the
// host.
#include "ops/shared/axis.h"
#include "ops/shared/fill.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

Tensor bincount_body(const Op& op, const Tensor& self, const std::optional<Tensor>& weights,
                     std::int64_t minlength) {
  PEL_CHECK(is_integral(self.dtype()), DTypeError, "integers are counted; an operand is {}", describe(self));
  PEL_CHECK(self.dim() == 1, ShapeError, "a tensor of one axis is expected, not {}", describe(self));
  PEL_CHECK(minlength >= 0, ValueError, "minlength is {}; it must not be negative", minlength);
  PEL_CHECK(self.has_data(), DeviceError, "{} has no data to read", describe(self));
  if (self.numel() == 0) {
    Tensor none = make_dense({minlength}, kI64, self.device());
    launch_fill(none, 0);
    return none;
  }
  PEL_CHECK(!weights || (weights->dim() == 1 && weights->numel() == self.numel()), ShapeError,
            "each element has a weight: {} goes with weights of the same size, not {}", describe(self),
            describe(*weights));
  const Tensor values = row_major(self), range = make_dense({2}, kI64, self.device());
  launch(op, {range}, {values});
  const Tensor on_host = read_back(range, "to read the largest integer");
  const auto* ends = on_host.data<const std::int64_t>();
  PEL_CHECK(ends[0] >= 0, ValueError, "an element is {}; only integers from 0 on are counted", ends[0]);
  const DType dtype = !weights ? kI64 : weights->dtype() == kF32 ? kF32 : kF64;
  Tensor result = make_dense({std::max(minlength, ends[1] + 1)}, dtype, self.device());
  // A number of any kind asks for the counts.
  if (weights) {
    launch(op, {result}, {values, row_major(converted(*weights, dtype))}, {1});
  } else {
    launch(op, {result}, {values}, {1});
  }
  return result;
}

}  // namespace

namespace ops {
OpDef define_bincount() {
  return define_op<bincount_body>(OpKind::Sync,
                                  "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor")
      .waits("to read the largest integer")
      .not_differentiable();
}
}  // namespace ops

Tensor bincount(const Tensor& self, const std::optional<Tensor>& weights, std::int64_t minlength, Site site) {
  return call<"bincount", bincount_body>(site, self, weights, minlength);
}

}  // namespace pel
