// -log softmax at the target's class, or against probabilities. One kernel reads the logits; what follows is
// of the size of the target.
#include "pellucid/ops.h"
#include "pellucid/pointwise.h"

#include "base/check.h"
#include "ops/family_loss.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor against_probabilities(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                             Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
  bool fits = target.dim() == self.dim();
  for (std::size_t i = 0; fits && i < self.sizes().size(); ++i) fits = target.sizes()[i] == self.sizes()[i];
  PEL_CHECK(fits, ShapeError, "probabilities have the sizes of {}; {} has not", describe(self),
            describe(target));
  PEL_CHECK(ignore_index < 0, ValueError, "ignore_index {} names a class, and the target has probabilities",
            ignore_index);
  const std::int64_t axis = class_axis(self);
  const std::optional<Tensor> weights = weight ? std::optional(class_weights(self, *weight)) : std::nullopt;
  const Tensor losses = cross_entropy_rows(self, axis, target, weights, label_smoothing)[2];
  if (reduction == Reduction::None) return to(losses, self.dtype());
  const Tensor total = sum(losses);
  return to(reduction == Reduction::Sum ? total : div(total, Scalar(losses.numel())), self.dtype());
}

Tensor cross_entropy_body(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                          std::string_view reduction_name, std::int64_t ignore_index,
                          double label_smoothing) {
  const Reduction reduction = reduction_of(reduction_name);
  check_floating(self);
  PEL_CHECK(label_smoothing >= 0 && label_smoothing <= 1, ValueError,
            "label_smoothing is {}, and must be between 0 and 1", label_smoothing);
  if (is_floating(target.dtype()))
    return against_probabilities(self, target, weight, reduction, ignore_index, label_smoothing);
  const ClassTarget classes = class_target(self, target, weight, ignore_index);
  const std::int64_t axis = class_axis(self);
  // What smoothing adds is the loss against no target at all.
  std::optional<Tensor> none, weights;
  if (label_smoothing > 0 && weight) {
    none = full({}, 0, {self.dtype(), self.device()});
    weights = class_weights(self, *weight);
  }
  const std::vector<Tensor> parts = cross_entropy_rows(self, axis, none, weights, label_smoothing);
  // Differences of logits are taken before anything is added to them: they are small where logits are great.
  Tensor losses = sub(parts[1], sub(at_target(self, classes), parts[0]));
  if (classes.weight) losses = mul(losses, *classes.weight);
  if (label_smoothing > 0) losses = add(mul(losses, 1 - label_smoothing), parts[2]);
  return reduce_classes(losses, classes, reduction, self.dtype());
}

}  // namespace

namespace ops {
OpDef define_cross_entropy() {
  return define_op<cross_entropy_body>(
             OpKind::Composite,
             "cross_entropy(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', int "
             "ignore_index=-100, float label_smoothing=0) -> Tensor")
      .dtypes(kFloating);
}
}  // namespace ops

Tensor cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                     std::string_view reduction, std::int64_t ignore_index, double label_smoothing,
                     Site site) {
  return call<"cross_entropy", cross_entropy_body>(site, self, target, weight, reduction, ignore_index,
                                                   label_smoothing);
}

}  // namespace pel
