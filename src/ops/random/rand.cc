// Uniform in [0, 1).
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor rand_body(Dims size, std::optional<DType> dtype, std::optional<Device> device,
                 const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  Tensor result = make_dense(size, dtype.value_or(kF32), device.value_or(kCpu));
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op<"uniform_">(), {result}, {}, {stream.seed, stream.offset, 0.0, 1.0});
  return result;
}

}  // namespace

namespace ops {
OpDef define_rand() {
  return define_op<rand_body>(OpKind::Kernel,
                              "rand(Dim[] size, *, DType? dtype=None, Device? device=None, " PEL_STREAM_SCHEMA
                              ") -> Tensor");
}
}  // namespace ops

Tensor rand(Dims size, TensorOptions options, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"rand", rand_body>(site, size, options.dtype, options.device, draw.seed, draw.offset);
}

}  // namespace pel
