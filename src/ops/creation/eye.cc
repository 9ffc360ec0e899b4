// Ones on the main diagonal, zeros elsewhere.
#include "pellucid/ops.h"

#include "dispatch/op_table.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor eye_body(const Op& op, Dim rows, std::optional<Dim> columns, std::optional<DType> dtype,
                std::optional<Device> device) {
  Tensor result = make_dense({rows, columns.value_or(rows)}, dtype.value_or(kF32), device.value_or(kCpu));
  launch(op, {result}, {});
  return result;
}

}  // namespace

namespace ops {
OpDef define_eye() {
  return define_op<eye_body>(OpKind::Kernel,
                             "eye(Dim n, Dim? m=None, *, DType? dtype=None, Device? device=None) -> Tensor");
}
}  // namespace ops

Tensor eye(Dim n, std::optional<Dim> m, TensorOptions options, Site site) {
  return call<"eye", eye_body>(site, n, m, options.dtype, options.device);
}

}  // namespace pel
