// Memory that holds whatever it held before.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor empty_body(Dims size, std::optional<DType> dtype, std::optional<Device> device) {
  return make_dense(size, dtype.value_or(kF32), device.value_or(kCpu));
}

}  // namespace

namespace ops {
OpDef define_empty() {
  return define_op<empty_body>(OpKind::Metadata,
                               "empty(Dim[] size, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor empty(Dims size, TensorOptions options, Site site) {
  return call<"empty", empty_body>(site, size, options.dtype, options.device);
}

}  // namespace pel
