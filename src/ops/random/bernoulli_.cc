// 1 with probability p, else 0, written into a tensor.
#include "ops/shared/random.h"

namespace pel {
namespace {

const Tensor& bernoulli_in_place_body(const Op& op, const Tensor& self, double p,
                                      const std::optional<Scalar>& seed,
                                      const std::optional<Scalar>& offset) {
  check_probability(p);
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {self}, {}, {stream.seed, stream.offset, p});
  bump_version(self);
  return self;
}

}  // namespace

namespace ops {
OpDef define_bernoulli_() {
  return define_op<bernoulli_in_place_body>(OpKind::Kernel,
                                            "bernoulli_(Tensor(a!) self, float p=0.5, *, " PEL_STREAM_SCHEMA
                                            ") -> Tensor(a!)")
      .no_vjp("self")
      .samples([](Sampler& s) { return SampleCalls{{s({3}), 0.4, Scalar(7), Scalar(0)}}; });
}
}  // namespace ops

const Tensor& bernoulli_(const Tensor& self, double p, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"bernoulli_", bernoulli_in_place_body>(site, self, p, draw.seed, draw.offset);
}

}  // namespace pel
