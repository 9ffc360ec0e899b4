// -log softmax at the target's class, or against probabilities. One kernel reads the logits; what follows is
// of the size of the target.
#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/vjp.h"
#include "tensor/make.h"

namespace pel {
namespace {

Tensor against_probabilities(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                             Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
  bool fits = target.dim() == self.dim();
  for (std::size_t i = 0; fits && i < self.sizes().size(); ++i) fits = target.sizes()[i] == self.sizes()[i];
  PEL_CHECK(fits, ShapeError, "probabilities must have the sizes of {}, not {}", describe(self),
            describe(target));
  PEL_CHECK(ignore_index < 0, ValueError, "ignore_index {} names a class, and the target has probabilities",
            ignore_index);
  const std::int64_t axis = class_axis(self);
  const std::optional<Tensor> weights = weight ? std::optional(class_weights(self, *weight)) : std::nullopt;
  const Tensor losses = internal::cross_entropy_rows(self, axis, target, weights, label_smoothing)[2];
  if (reduction == Reduction::None) return to(losses, self.dtype());
  const Tensor total = sum(losses);
  return to(reduction == Reduction::Sum ? total : div(total, Scalar(losses.numel())), self.dtype());
}

Tensor cross_entropy_body(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                          Reduction reduction, std::int64_t ignore_index, double label_smoothing) {
  check_reduction(reduction);
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
  const std::vector<Tensor> parts = internal::cross_entropy_rows(self, axis, none, weights, label_smoothing);
  // Differences of logits are taken before anything is added to them: they are small where logits are great.
  Tensor losses = sub(parts[1], sub(at_target(self, classes), parts[0]));
  if (classes.weight) losses = mul(losses, *classes.weight);
  if (label_smoothing > 0) losses = add(mul(losses, 1 - label_smoothing), parts[2]);
  return reduce_classes(losses, classes, reduction, self.dtype());
}

// What the gradients of logits, probabilities and weights have in common.
struct Gradients {
  explicit Gradients(const Vjp& v)
      : self(v["self"]),
        target(v["target"]),
        axis(class_axis(self)),
        smoothing(v.get<double>("label_smoothing")),
        reduction(v.get<Reduction>("reduction")),
        grad(to(v.grad(), value_type(self.dtype()))) {
    const auto weight = v.get<std::optional<Tensor>>("weight");
    if (weight) weights = class_weights(self, *weight);
    if (is_floating(target.dtype())) {
      rows = reduction == Reduction::None   ? grad.unsqueeze(axis)
             : reduction == Reduction::Mean ? div(grad, Scalar(rows_count()))
                                            : grad;
      return;
    }
    classes = class_target(self, target, weight, v.get<std::int64_t>("ignore_index"));
    if (reduction == Reduction::Mean) grad = div(grad, weight_of_targets(*classes));
    rows = masked_fill(expand(grad, target.sizes()), classes->ignored, 0).unsqueeze(axis);
    at_target = scaled(classes->weight ? mul(rows, classes->weight->unsqueeze(axis)) : rows, 1 - smoothing);
    index = classes->index.unsqueeze(axis);
  }

  // One kernel writes softmax times the gradient of each row; then the elements of the targets are corrected.
  Tensor of_logits() const {
    const DType type = self.dtype();
    if (!classes)
      return internal::cross_entropy_rows_backward(zeros({}, {grad.dtype(), self.device()}), rows, self, axis,
                                                   target, weights, smoothing);
    const Tensor result = smoothing > 0
                              ? internal::cross_entropy_rows_backward(at_target, rows, self, axis,
                                                                      std::nullopt, weights, smoothing)
                              : internal::cross_entropy_rows_backward(at_target, std::nullopt, self, axis);
    scatter_add_(result, axis, index, to(neg(at_target), type));
    return result;
  }
  Tensor of_probabilities() const {
    const Tensor result = scaled(neg(rows * log_softmax(self, axis)), 1 - smoothing);
    return weights ? mul(result, *weights) : result;
  }
  // `loss` is the result, which a mean over the weights depends on.
  Tensor of_weights(const Tensor& loss) const {
    std::vector<std::int64_t> others;
    for (std::int64_t i = 0; i < self.dim(); ++i) {
      if (i != axis) others.push_back(i);
    }
    const auto for_each_class = [&](const Tensor& t) { return others.empty() ? t : sum(t, others); };
    const Tensor losses = neg(log_softmax(self, axis));
    const auto soft = classes ? std::nullopt : std::optional(target);
    const Tensor spread =
        for_each_class(losses * rows * loss_probability(self, axis, soft, std::nullopt, smoothing));
    if (!classes) return spread;
    Tensor each = gather(losses, axis, index) * rows * (1 - smoothing);
    if (reduction == Reduction::Mean)
      each = each - masked_fill(expand(grad * loss, target.sizes()), classes->ignored, 0).unsqueeze(axis);
    return spread + for_each_class(scatter_add(zeros_like(losses), axis, index, each));
  }

  const Tensor &self, &target;
  std::int64_t axis;
  double smoothing;
  Reduction reduction;
  Tensor grad, rows;  // of the loss of each row, with the axis of classes, of size 1
  Tensor at_target, index;
  std::optional<Tensor> weights;
  std::optional<ClassTarget> classes;

 private:
  // Not the elements by the classes, of which there may be none.
  Dim rows_count() const {
    Dim count = 1;
    for (std::int64_t i = 0; i < self.dim(); ++i) {
      if (i != axis) count *= self.sizes()[static_cast<std::size_t>(i)];
    }
    return count;
  }
};

}  // namespace

namespace ops {
OpDef define_cross_entropy() {
  return define_op<cross_entropy_body>(
             OpKind::Composite,
             "cross_entropy(Tensor self, Tensor target, Tensor? weight=None, str reduction='mean', int "
             "ignore_index=-100, float label_smoothing=0) -> Tensor")
      .autocast(CastRule::Wide)
      .dtypes(kFloating)
      .vjp("self", "self target weight reduction ignore_index label_smoothing",
           [](const Vjp& v) { return Gradients(v).of_logits(); })
      .vjp("target", "self target weight reduction ignore_index label_smoothing",
           [](const Vjp& v) { return Gradients(v).of_probabilities(); })
      .vjp("weight", "self target weight reduction ignore_index label_smoothing result",
           [](const Vjp& v) { return Gradients(v).of_weights(v["result"]); })
      .samples([](Sampler& s) {
        return SampleCalls{
            {s({3, 4}), s.indices(4, {3})},
            {s({2, 3, 2}), s.indices(3, {2, 2}), s({3}, 0.5, 2), std::string("mean"), Dim(1), 0.1},
            {s({3, 4}), s.indices(4, {3}), s({4}, 0.5, 2), std::string("none"), Dim(-100), 0.2},
            {s({4}), s.indices(4, {}), Value(), std::string("sum"), Dim(-100), 0.1},
            {s({3, 4}), s({3, 4}, 0, 1)},
            {s({2, 3, 2}), s({2, 3, 2}, 0, 1), s({3}, 0.5, 2), std::string("none"), Dim(-100), 0.1}};
      });
}
}  // namespace ops

Tensor cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                     Reduction reduction, std::int64_t ignore_index, double label_smoothing, Site site) {
  return call<"cross_entropy", cross_entropy_body>(site, self, target, weight, reduction, ignore_index,
                                                   label_smoothing);
}

}  // namespace pel
