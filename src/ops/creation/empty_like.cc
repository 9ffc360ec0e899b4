// Uninitialized memory with the sizes, dtype and dense layout of another tensor.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor empty_like_body(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device) {
  return make_like(self, dtype.value_or(self.dtype()), device.value_or(self.device()));
}

}  // namespace

namespace ops {
OpDef define_empty_like() {
  return define_op<empty_like_body>(
             OpKind::Metadata, "empty_like(Tensor self, *, DType? dtype=None, Device? device=None) -> Tensor")
      .not_differentiable();
}
}  // namespace ops

Tensor empty_like(const Tensor& self, TensorOptions options, Site site) {
  return call<"empty_like", empty_like_body>(site, self, options.dtype, options.device);
}

}  // namespace pel
