#include "ops/shared/loss.h"

#include "pellucid/ops.h"
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/pointwise.h"

#include "base/check.h"
#include "ops/shared/index.h"
#include "ops/shared/operands.h"
#include "tensor/make.h"

namespace pel {

void check_reduction(Reduction reduction) {
  PEL_CHECK(reduction != Reduction::BatchMean, ValueError, "the reduction \"{}\" belongs to kl_div",
            name(reduction));
}

namespace {

RowsDef give_losses(RowsDef def, RowFormula loss, LossReference reference) {
  return std::move(def)
      .gives_row(std::move(loss))
      .reference([reference](const RowData& in, const RowParams& params, int, std::size_t place) {
        return reference(in, params, place);
      });
}
RowsDef sum_losses(RowsDef def, RowFormula loss, LossReference reference) {
  return std::move(def)
      .fold(FoldKind::Sum, std::move(loss), [](const RowTerms& t) { return t.values[0] / t.numbers[0]; })
      .gives_value(first_value)
      .reference([reference](const RowData& in, const RowParams& params, int, std::size_t) {
        RowProgram::Wanted total{0, 0};
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          const RowProgram::Wanted one = reference(in, params, i);
          total.value += one.value;
          total.magnitude += std::max(std::abs(one.value), one.magnitude);
        }
        const auto divisor = static_cast<long double>(params[0]);
        return RowProgram::Wanted{total.value / divisor, total.magnitude / std::abs(divisor)};
      });
}

}  // namespace

RowsDef elementwise_loss(RowsDef def, RowFormula loss, LossReference reference) {
  def = give_losses(std::move(def).computes(kFloating).values_in(value_type).max_ulp(4), loss, reference);
  return sum_losses(std::move(def).program("total"), std::move(loss), reference);
}
RowsDef further_loss(RowsDef def, std::string suffix, int inputs, RowFormula loss, LossReference reference) {
  def = give_losses(std::move(def).program(suffix).inputs(inputs), loss, reference);
  return sum_losses(std::move(def).program(suffix + "_total"), std::move(loss), reference);
}

Tensor run_loss(const Op& op, ArrayView<TensorRef> inputs, const LossCall& call, ArrayView<Scalar> numbers) {
  if (!call.divisor) check_reduction(call.reduction);
  DimVector sizes(inputs[0].tensor->sizes());
  std::vector<PromotionOperand> operands;
  for (const TensorRef& input : inputs) {
    PEL_CHECK(is_floating(input.tensor->dtype()), DTypeError, "losses are of {}; {} is not: convert it",
              to_string(kFloating), describe(*input.tensor));
    PEL_CHECK(!broadcast_clash(sizes, input.tensor->sizes()), ShapeError, "{} and {} do not broadcast",
              describe(*inputs[0].tensor), describe(*input.tensor));
    operands.emplace_back(*input.tensor);
  }
  const Tensor first = broadcast_view(*inputs[0].tensor, sizes);
  std::vector<TensorRef> refs = {first};
  for (std::size_t i = 1; i < inputs.size(); ++i) refs.push_back(inputs[i]);
  const bool is_mean = call.reduction == Reduction::Mean;
  const Dim divisor = call.divisor.value_or(is_mean ? first.numel() : Dim(1));
  std::vector<Scalar> given = {Scalar(divisor)};
  for (const Scalar& number : numbers) given.push_back(number);
  const std::size_t program = 2 * call.pair + (call.reduction == Reduction::None ? 0 : 1);
  return run_rows(op, refs, {result_type(operands), axis_set(first, Axes()), KeepDims::No, program},
                  given)[0];
}

Tensor element_grad(const Vjp& v, Dims sizes) {
  const auto reduction = v.get<Reduction>("reduction");
  if (reduction == Reduction::BatchMean) return div(v.grad(), Scalar(sizes[0]));
  return reduction == Reduction::Mean ? div(v.grad(), Scalar(product(sizes))) : v.grad();
}

std::vector<Tensor> with_opposite(const Vjp& v, const Tensor& gradient) {
  return {gradient, v.wants("target") ? neg(gradient) : Tensor()};
}

std::int64_t class_axis(const Tensor& self) {
  PEL_CHECK(self.dim() >= 1, ShapeError, "the first tensor has an axis of classes; {} has none",
            describe(self));
  return self.dim() == 1 ? 0 : 1;
}

Tensor class_weights(const Tensor& self, const Tensor& weight) {
  return view(weight, vector_along(weight, self, class_axis(self)).sizes());  // an op, which has a gradient
}

Tensor loss_probability(const Tensor& self, std::int64_t axis, const std::optional<Tensor>& target,
                        const std::optional<Tensor>& weight, double smoothing) {
  const auto at = static_cast<std::size_t>(wrap_axis(axis, self.dim()));
  const Dim classes = self.dim() == 0 ? Dim(1) : self.sizes()[at];
  const double even = smoothing / static_cast<double>(classes.value());
  const Tensor p =
      target ? add(mul(*target, 1 - smoothing), even) : full({}, even, {self.dtype(), self.device()});
  return weight ? mul(p, *weight) : p;
}

Tensor sample_targets(Sampler& sampler, Dim classes, Dims rows) {
  const Tensor targets = sampler.indices(classes.value(), rows);
  fill_(narrow(targets.flatten(), 0, 0, 1), 0);
  return targets;
}

std::int64_t check_class_target(const Tensor& self, const Tensor& target) {
  check_floating(self);
  const auto axis = static_cast<std::size_t>(class_axis(self));
  bool fits = target.dim() + 1 == self.dim();
  for (std::size_t i = 0; fits && i < target.sizes().size(); ++i)
    fits = target.sizes()[i] == self.sizes()[i < axis ? i : i + 1];
  PEL_CHECK(fits, ShapeError, "targets must have the sizes of {} without axis {}, the classes, not {}",
            describe(self), axis, describe(target));
  check_index_dtype(target);
  return static_cast<std::int64_t>(axis);
}

void check_linear_target(const Tensor& input, const Tensor& weight, const Tensor& target) {
  check_floating(input);
  PEL_CHECK(weight.dtype() == input.dtype(), DTypeError,
            "input is {} and weight is {}; both must have one dtype", name(input.dtype()),
            name(weight.dtype()));
  PEL_CHECK(input.dim() == 2 && weight.dim() == 2, ShapeError,
            "input is [rows, features] and weight [classes, features], not {} and {}", describe(input),
            describe(weight));
  PEL_CHECK(input.sizes()[1] == weight.sizes()[1], ShapeError, "{} and {} differ in features",
            describe(input), describe(weight));
  PEL_CHECK(target.dim() == 1 && target.sizes()[0] == input.sizes()[0], ShapeError,
            "there is one target for each row of {}, not {}", describe(input), describe(target));
  check_index_dtype(target);
}

void check_saved(const Tensor& saved, Dims sizes, DType dtype) {
  bool fits = saved.dtype() == dtype && saved.sizes().size() == sizes.size();
  for (std::size_t i = 0; fits && i < sizes.size(); ++i) fits = saved.sizes()[i] == sizes[i];
  PEL_CHECK(fits, ShapeError, "a gradient, or what is saved for it, must be {}{}, not {}", name(dtype),
            to_string(sizes), describe(saved));
}

ClassTarget class_target(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                         std::int64_t ignore_index) {
  check_class_target(self, target);
  const Tensor ignored = eq(target, ignore_index);
  const Tensor index = where(ignored, 0, target);
  if (!weight) return {index, ignored, std::nullopt};
  class_weights(self, *weight);  // checks
  const Tensor picked = index_select(*weight, 0, index.flatten());
  return {index, ignored, to(picked.view(index.sizes()), value_type(self.dtype()))};
}

Tensor at_target(const Tensor& self, const ClassTarget& target) {
  const std::int64_t axis = class_axis(self);
  const Tensor picked = gather(self, axis, target.index.unsqueeze(axis)).squeeze(Axes({axis}));
  return to(picked, value_type(self.dtype()));
}

Tensor weight_of_targets(const ClassTarget& target) {
  return target.weight ? sum(masked_fill(*target.weight, target.ignored, 0))
                       : sum(logical_not(target.ignored));
}

Tensor reduce_classes(const Tensor& losses, const ClassTarget& target, Reduction reduction, DType dtype) {
  const Tensor counted = masked_fill(losses, target.ignored, 0);
  if (reduction == Reduction::None) return to(counted, dtype);
  const Tensor total = sum(counted);
  return to(reduction == Reduction::Sum ? total : div(total, weight_of_targets(target)), dtype);
}

}  // namespace pel
