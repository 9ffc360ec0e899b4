// The exponential distribution, written into a tensor. Never 0.
#include "ops/shared/random.h"

namespace pel {
namespace {

const Tensor& exponential_body(const Op& op, const Tensor& self, double rate,
                               const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  PEL_CHECK(rate > 0, ValueError, "the rate is {}; it must be positive", rate);
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {self}, {}, {stream.seed, stream.offset, rate});
  bump_version(self);
  return self;
}

}  // namespace

namespace ops {
OpDef define_exponential_() {
  return define_op<exponential_body>(OpKind::Kernel,
                                     "exponential_(Tensor(a!) self, float lambd=1, *, " PEL_STREAM_SCHEMA
                                     ") -> Tensor(a!)")
      .dtypes(kFloating)
      .no_vjp("self")
      .samples([](Sampler& s) { return SampleCalls{{s({3}), 2.0, Scalar(7), Scalar(0)}}; });
}
}  // namespace ops

const Tensor& exponential_(const Tensor& self, double lambd, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"exponential_", exponential_body>(site, self, lambd, draw.seed, draw.offset);
}

}  // namespace pel
