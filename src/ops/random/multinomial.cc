// Indices drawn with the probabilities in each row.
#include "ops/shared/axis.h"
#include "ops/shared/random.h"

namespace pel {
namespace {

Tensor multinomial_body(const Op& op, const Tensor& self, Dim samples, Replacement replacement,
                        const std::optional<Scalar>& seed, const std::optional<Scalar>& offset) {
  PEL_CHECK(self.dim() == 1 || self.dim() == 2, ShapeError,
            "probabilities have one axis or two; these are {}", describe(self));
  PEL_CHECK(is_floating(self.dtype()), DTypeError, "probabilities are floating; an operand is {}",
            describe(self));
  const Dim categories = self.sizes()[static_cast<std::size_t>(self.dim() - 1)];
  PEL_CHECK(samples > 0, ValueError, "{} samples are wanted; ask for one or more", to_string(samples));
  PEL_CHECK(replacement == Replacement::Yes ? categories > 0 : samples <= categories, ValueError,
            "{} samples of {} categories need replacement", to_string(samples), to_string(categories));
  DimVector sizes(self.sizes());
  sizes.back() = samples;
  Tensor result = make_dense(sizes, kI64, self.device());
  const StreamNumbers stream = stream_numbers(seed, offset);
  launch(op, {result}, {row_major(self)}, {stream.seed, stream.offset, replacement == Replacement::Yes});
  return result;
}

}  // namespace

namespace ops {
OpDef define_multinomial() {
  return define_op<multinomial_body>(
             OpKind::Kernel,
             "multinomial(Tensor self, Dim num_samples, bool replacement=False, *, " PEL_STREAM_SCHEMA
             ") -> Tensor")
      .not_differentiable();
}
}  // namespace ops

Tensor multinomial(const Tensor& self, Dim num_samples, Replacement replacement, Generator& generator,
                   Site site) {
  const Draw draw = draw_from(generator);
  return call<"multinomial", multinomial_body>(site, self, num_samples, replacement, draw.seed, draw.offset);
}

}  // namespace pel
