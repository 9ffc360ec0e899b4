// Elements dropped with probability p, the others divided by 1 - p. Outside training, the tensor itself.
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor dropout_body(const Tensor& input, double p, Training training, const std::optional<Scalar>& seed,
                    const std::optional<Scalar>& offset) {
  check_probability(p);
  if (training == Training::No || p == 0) return input;
  return std::get<0>(native_dropout_from(input, p, training, {seed, offset}));
}

}  // namespace

namespace ops {
OpDef define_dropout() {
  return define_op<dropout_body>(OpKind::Composite,
                                 "dropout(Tensor(a) input, float p, bool train, *, " PEL_STREAM_SCHEMA
                                 ") -> Tensor(a)");
}
}  // namespace ops

Tensor dropout(const Tensor& input, double p, Training training, Generator& generator, Site site) {
  const bool draws = training == Training::Yes && p != 0;
  const Draw draw = draws ? draw_from(generator) : Draw();
  return call<"dropout", dropout_body>(site, input, p, training, draw.seed, draw.offset);
}

}  // namespace pel
