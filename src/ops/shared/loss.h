// What the losses share: how the losses of elements become one number, and targets that name classes.
#pragma once

#include "pellucid/ops/losses.h"

#include "ops/shared/rows.h"

namespace pel {

// Refuses BatchMean, which belongs to kl_div.
void check_reduction(Reduction reduction);

// The expected loss of one element; the other numbers are those after the divisor.
using LossReference = RowProgram::Wanted (*)(const RowData& in, const RowParams& params, std::size_t place);
// Two programs: the loss of each element, and their sum divided by the first number. Later numbers are the
// loss' own.
RowsDef elementwise_loss(RowsDef def, RowFormula loss, LossReference reference);
// Another pair of programs, for more inputs.
RowsDef further_loss(RowsDef def, std::string suffix, int inputs, RowFormula loss, LossReference reference);

struct LossCall {
  Reduction reduction;
  std::size_t pair = 0;             // which pair of programs
  std::optional<Dim> divisor = {};  // of a sum; none: a mean's count, or 1
};
// Inputs broadcast; their dtypes promote.
Tensor run_loss(const Op& op, ArrayView<TensorRef> inputs, const LossCall& call,
                ArrayView<Scalar> numbers = {});

// The gradient of each element's loss from that of the result: divided by the count of elements where that
// is a mean, and by the first size for "batchmean".
Tensor element_grad(const Vjp& v, Dims sizes);
// A gradient of `self`, and its opposite for `target`.
std::vector<Tensor> with_opposite(const Vjp& v, const Tensor& gradient);

// Where the classes are: axis 1, or the one of a vector.
std::int64_t class_axis(const Tensor& self);
// Weights of classes as they broadcast to `self`.
Tensor class_weights(const Tensor& self, const Tensor& weight);

// (target (1 - smoothing) + smoothing / classes) weight, which cross entropy is against. In rows the logits
// come first, the target second, then weights.
inline Term loss_probability(const RowTerms& t, bool is_weighted) {
  const Term p = fma(t.in[1], 1 - t.numbers[0], t.numbers[0] / t.count);
  return is_weighted ? p * t.in[2] : p;
}
Tensor loss_probability(const Tensor& self, std::int64_t axis, const std::optional<Tensor>& target,
                        const std::optional<Tensor>& weight, double smoothing);

// Targets that name classes.
struct ClassTarget {
  Tensor index;                  // class 0 where the target is ignored
  Tensor ignored;                // bool
  std::optional<Tensor> weight;  // of each target's class
};
// For tests: classes of rows, the first of which is 0.
Tensor sample_targets(Sampler& sampler, Dim classes, Dims rows);
// Refuses targets that are not one class for each row of self. Returns the axis of the classes.
std::int64_t check_class_target(const Tensor& self, const Tensor& target);
// Refuses operands of linear_cross_entropy that are not [rows, features], [classes, features] and [rows].
void check_linear_target(const Tensor& input, const Tensor& weight, const Tensor& target);
// Refuses a gradient, or what the forward pass saved for it, that has other sizes or another dtype.
void check_saved(const Tensor& saved, Dims sizes, DType dtype);
ClassTarget class_target(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                         std::int64_t ignore_index);
// The element of each row that its target names, in the type that is computed in.
Tensor at_target(const Tensor& self, const ClassTarget& target);
// What a mean is over: the weights of targets that are not ignored, or how many these are.
Tensor weight_of_targets(const ClassTarget& target);
// From losses of rows, already weighted, to the result.
Tensor reduce_classes(const Tensor& losses, const ClassTarget& target, Reduction reduction, DType dtype);

}  // namespace pel
