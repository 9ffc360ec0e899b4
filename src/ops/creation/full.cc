// One number everywhere. Without a dtype the number's kind decides: bool, i64 or f32.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "ops/shared/fill.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor full_body(Dims size, const Scalar& value, std::optional<DType> dtype, std::optional<Device> device) {
  Tensor result = make_dense(size, dtype.value_or(value.default_dtype()), device.value_or(kCpu));
  launch_fill(result, value);
  return result;
}

}  // namespace

namespace ops {
OpDef define_full() {
  return define_op<full_body>(
      OpKind::Kernel,
      "full(Dim[] size, Scalar fill_value, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor full(Dims size, const Scalar& fill_value, TensorOptions options, Site site) {
  return call<"full", full_body>(site, size, fill_value, options.dtype, options.device);
}

}  // namespace pel
