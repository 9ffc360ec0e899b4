// Uniform in [0, 1). In the sizes, dtype and dense layout of another tensor.
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor rand_like_body(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                      const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  Tensor result = make_like(self, dtype.value_or(self.dtype()), device.value_or(self.device()));
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op<"uniform_">(), {result}, {}, {stream.seed, stream.offset, 0.0, 1.0});
  return result;
}

}  // namespace

namespace ops {
OpDef define_rand_like() {
  return define_op<rand_like_body>(
             OpKind::Kernel,
             "rand_like(Tensor self, *, DType? dtype=None, Device? device=None, " PEL_STREAM_SCHEMA
             ") -> Tensor")
      .not_differentiable();
}
}  // namespace ops

Tensor rand_like(const Tensor& self, TensorOptions options, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"rand_like", rand_like_body>(site, self, options.dtype, options.device, draw.seed, draw.offset);
}

}  // namespace pel
