// Standard normal. In the sizes, dtype and dense layout of another tensor.
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor randn_like_body(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                       const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  Tensor result = make_like(self, dtype.value_or(self.dtype()), device.value_or(self.device()));
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op<"normal_">(), {result}, {}, {stream.seed, stream.offset, 0.0, 1.0});
  return result;
}

}  // namespace

namespace ops {
OpDef define_randn_like() {
  return define_op<randn_like_body>(
             OpKind::Kernel,
             "randn_like(Tensor self, *, DType? dtype=None, Device? device=None, " PEL_STREAM_SCHEMA
             ") -> Tensor")
      .not_differentiable();
}
}  // namespace ops

Tensor randn_like(const Tensor& self, TensorOptions options, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"randn_like", randn_like_body>(site, self, options.dtype, options.device, draw.seed,
                                             draw.offset);
}

}  // namespace pel
