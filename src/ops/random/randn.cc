// Standard normal.
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor randn_body(Dims size, std::optional<DType> dtype, std::optional<Device> device,
                  const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  Tensor result = make_dense(size, dtype.value_or(kF32), device.value_or(kCpu));
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op<"normal_">(), {result}, {}, {stream.seed, stream.offset, 0.0, 1.0});
  return result;
}

}  // namespace

namespace ops {
OpDef define_randn() {
  return define_op<randn_body>(
      OpKind::Kernel,
      "randn(Dim[] size, *, DType? dtype=None, Device? device=None, " PEL_STREAM_SCHEMA ") -> Tensor");
}
}  // namespace ops

Tensor randn(Dims size, TensorOptions options, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"randn", randn_body>(site, size, options.dtype, options.device, draw.seed, draw.offset);
}

}  // namespace pel
