// Uniform in [from, to), written into a tensor.
#include <cmath>

#include "ops/shared/random.h"
#include "tensor/element.h"

namespace pel {
namespace {

const Tensor& uniform_body(const Op& op, const Tensor& self, double from, double to,
                           const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  PEL_CHECK(from <= to && std::isfinite(from) && std::isfinite(to), ValueError,
            "from {} to {} is not a range; pass finite numbers, the lower one first", from, to);
  check_fits(self.dtype(), from);
  check_fits(self.dtype(), to);
  check_fits(self.dtype(), to - from);
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {self}, {}, {stream.seed, stream.offset, from, to});
  bump_version(self);
  return self;
}

}  // namespace

namespace ops {
OpDef define_uniform_() {
  return define_op<uniform_body>(OpKind::Kernel,
                                 "uniform_(Tensor(a!) self, float from=0, float to=1, *, " PEL_STREAM_SCHEMA
                                 ") -> Tensor(a!)")
      .dtypes(kFloating)
      .no_vjp("self")
      .samples([](Sampler& s) { return SampleCalls{{s({3}), -1.0, 2.0, Scalar(7), Scalar(0)}}; });
}
}  // namespace ops

const Tensor& uniform_(const Tensor& self, double from, double to, Generator& generator, Site site) {
  const Draw draw = draw_from(generator);
  return call<"uniform_", uniform_body>(site, self, from, to, draw.seed, draw.offset);
}

}  // namespace pel
