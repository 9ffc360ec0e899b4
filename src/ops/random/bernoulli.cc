// 1 with the probability in each element, else 0.
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor bernoulli_body(const Tensor& self, const std::optional<Scalar>& seed,
                      const std::optional<Scalar>& offset) {
  PEL_CHECK(is_floating(self.dtype()), DTypeError, "probabilities are floating; an operand is {}",
            describe(self));
  Tensor result = make_like(self, self.dtype(), self.device());
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op<"bernoulli_">(), {result}, {self}, {stream.seed, stream.offset});
  return result;
}

}  // namespace

namespace ops {
OpDef define_bernoulli() {
  return define_op<bernoulli_body>(OpKind::Kernel,
                                   "bernoulli(Tensor self, *, " PEL_STREAM_SCHEMA ") -> Tensor")
      .not_differentiable();
}
}  // namespace ops

Tensor bernoulli(const Tensor& self, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"bernoulli", bernoulli_body>(site, self, draw.seed, draw.offset);
}
Tensor bernoulli(const Tensor& self, double p, Generator& generator, Site site) {
  return bernoulli_(empty_like(self, {}, site), p, generator, site);
}

}  // namespace pel
