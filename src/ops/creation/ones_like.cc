// Ones everywhere, in the sizes, dtype and dense layout of another tensor.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

Tensor ones_like_body(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device) {
  return full_like(self, 1, {dtype.value_or(self.dtype()), device.value_or(self.device())});
}

}  // namespace

namespace ops {
OpDef define_ones_like() {
  return define_op<ones_like_body>(
      OpKind::Composite, "ones_like(Tensor self, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor ones_like(const Tensor& self, TensorOptions options, Site site) {
  return call<"ones_like", ones_like_body>(site, self, options.dtype, options.device);
}

}  // namespace pel
