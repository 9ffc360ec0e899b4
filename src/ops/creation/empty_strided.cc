// Uninitialized memory with these strides.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor empty_strided_body(Dims size, Dims stride, std::optional<DType> dtype, std::optional<Device> device) {
  return make_strided(size, stride, dtype.value_or(kF32), device.value_or(kCpu));
}

}  // namespace

namespace ops {
OpDef define_empty_strided() {
  return define_op<empty_strided_body>(
      OpKind::Metadata,
      "empty_strided(Dim[] size, Dim[] stride, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor empty_strided(Dims size, Dims stride, TensorOptions options, Site site) {
  return call<"empty_strided", empty_strided_body>(site, size, stride, options.dtype, options.device);
}

}  // namespace pel
