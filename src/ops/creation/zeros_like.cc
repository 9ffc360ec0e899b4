// Zeros everywhere, in the sizes, dtype and dense layout of another tensor.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

Tensor zeros_like_body(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device) {
  return full_like(self, 0, {dtype.value_or(self.dtype()), device.value_or(self.device())});
}

}  // namespace

namespace ops {
OpDef define_zeros_like() {
  return define_op<zeros_like_body>(
      OpKind::Composite, "zeros_like(Tensor self, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor zeros_like(const Tensor& self, TensorOptions options, Site site) {
  return call<"zeros_like", zeros_like_body>(site, self, options.dtype, options.device);
}

}  // namespace pel
