// One number everywhere, in the sizes, dtype and dense layout of another tensor.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "ops/shared/fill.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor full_like_body(const Tensor& self, const Scalar& value, std::optional<DType> dtype,
                      std::optional<Device> device) {
  Tensor result = make_like(self, dtype.value_or(self.dtype()), device.value_or(self.device()));
  launch_fill(result, value);
  return result;
}

}  // namespace

namespace ops {
OpDef define_full_like() {
  return define_op<full_like_body>(
             OpKind::Kernel,
             "full_like(Tensor self, Scalar fill_value, *, DType? dtype=None, Device? device=None) -> Tensor")
      .not_differentiable();
}
}  // namespace ops

Tensor full_like(const Tensor& self, const Scalar& fill_value, TensorOptions options, Site site) {
  return call<"full_like", full_like_body>(site, self, fill_value, options.dtype, options.device);
}

}  // namespace pel
