// Ones everywhere; f32 by default.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"

namespace pel {
namespace {

Tensor ones_body(Dims size, std::optional<DType> dtype, std::optional<Device> device) {
  return full(size, 1, {dtype.value_or(kF32), device.value_or(kCpu)});
}

}  // namespace

namespace ops {
OpDef define_ones() {
  return define_op<ones_body>(OpKind::Composite,
                              "ones(Dim[] size, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor ones(Dims size, TensorOptions options, Site site) {
  return call<"ones", ones_body>(site, size, options.dtype, options.device);
}

}  // namespace pel
