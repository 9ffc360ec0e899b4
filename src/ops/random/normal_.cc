// Normal with one mean and one standard deviation, written into a tensor.
#include "ops/shared/random.h"

namespace pel {
namespace {

const Tensor& normal_in_place_body(const Op& op, const Tensor& self, double mean, double std,
                                   const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  PEL_CHECK(std >= 0, ValueError, "the standard deviation is {}; it must not be negative", std);
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {self}, {}, {stream.seed, stream.offset, mean, std});
  bump_version(self);
  return self;
}

}  // namespace

namespace ops {
OpDef define_normal_() {
  return define_op<normal_in_place_body>(
             OpKind::Kernel,
             "normal_(Tensor(a!) self, float mean=0, float std=1, *, " PEL_STREAM_SCHEMA ") -> Tensor(a!)")
      .dtypes(kFloating)
      .no_vjp("self")
      .samples([](Sampler& s) { return SampleCalls{{s({3}), 0.5, 2.0, Scalar(7), Scalar(0)}}; });
}
}  // namespace ops

const Tensor& normal_(const Tensor& self, double mean, double std, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"normal_", normal_in_place_body>(site, self, mean, std, draw.seed, draw.offset);
}

}  // namespace pel
