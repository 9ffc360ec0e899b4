// Zeros everywhere; f32 by default.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

Tensor zeros_body(Dims size, std::optional<DType> dtype, std::optional<Device> device) {
  return full(size, 0, {dtype.value_or(kF32), device.value_or(kCpu)});
}

}  // namespace

namespace ops {
OpDef define_zeros() {
  return define_op<zeros_body>(OpKind::Composite,
                               "zeros(Dim[] size, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor zeros(Dims size, TensorOptions options, Site site) {
  return call<"zeros", zeros_body>(site, size, options.dtype, options.device);
}

}  // namespace pel
