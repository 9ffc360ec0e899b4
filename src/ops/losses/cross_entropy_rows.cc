// The row reductions of cross_entropy: the max, the logarithm of the sum of exponentials, and
// the loss against a distribution over the classes.
#include "pellucid/ops/indexing.h"
#include "pellucid/ops/internal.h"

#include "base/check.h"
#include "ops/shared/loss.h"
#include "ops/shared/softmax.h"
#include "ops/shared/vjp.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kEven, kTarget, kWeightedTarget };

std::vector<Tensor> cross_entropy_rows_body(const Op& op, const Tensor& self, std::int64_t axis,
                                            const std::optional<Tensor>& target,
                                            const std::optional<Tensor>& weight, double label_smoothing) {
  PEL_CHECK(target || !weight, ValueError, "a weight of classes needs a target; pass both");
  RowsCall call{check_floating(self), axis_set(self, axis), KeepDims::No, kPlain};
  if (!target && label_smoothing == 0) return run_rows(op, {self}, call);
  if (!target) {
    call.program = kEven;
    return run_rows(op, {self}, call, {label_smoothing});
  }
  call.program = weight ? kWeightedTarget : kTarget;
  std::vector<TensorRef> inputs = {self, *target};
  if (weight) inputs.emplace_back(*weight);
  return run_rows(op, inputs, call, {label_smoothing});
}

// Values are the max, the logarithm of the sum, then the sums below. A NaN, or one that is infinite,
// makes the sum NaN, so the max need not be NaN. It adds 1 to the sum, so that the smallest terms do not
// count.
RowsDef exponentials(RowsDef def) {
  return std::move(def)
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::MaxNumber, the_element)
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return exp_term(shifted(t)); },
          [](const RowTerms& t) { return log(t.values[1]); });
}
RowsDef parts(RowsDef def) {
  return exponentials(std::move(def))
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type);
}
Term probability(const RowTerms& t) { return loss_probability(t, t.in.size() > 2); }
RowsDef against_even(RowsDef def) {
  return exponentials(std::move(def))
      .fold(FoldKind::Sum, shifted)
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type)
      .gives_value(
          [](const RowTerms& t) { return (t.count * t.values[1] - t.values[2]) * (t.numbers[0] / t.count); },
          value_type);
}
RowsDef against_target(RowsDef def) {
  return exponentials(std::move(def))
      .fold(FoldKind::Sum, [](const RowTerms& t) { return probability(t) * shifted(t); })
      .fold(FoldKind::Sum, probability)
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type)
      .gives_value([](const RowTerms& t) { return t.values[1] * t.values[3] - t.values[2]; }, value_type);
}

RowProgram::Wanted reference(const RowData& in, const RowParams& params, int output, std::size_t) {
  const long double largest = std::ranges::max(in[0]);
  const long double log_sum = std::log(sum_of_exponentials(in[0]));
  if (output == 0) return {largest, 0};
  if (output == 1) return {log_sum, 1};
  const auto smoothing = static_cast<long double>(params[0]);
  RowProgram::Wanted wanted{0, 0};
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const long double weight = in.size() > 2 ? in[2][i] : 1;
    const long double even = smoothing / static_cast<long double>(in[0].size());
    const long double target = in.size() > 1 ? in[1][i] : 0;
    const long double p = (target * (1 - smoothing) + even) * weight;
    wanted.value += p * (log_sum - (in[0][i] - largest));
    // The sum of exponentials is 1 at least, and so is what the error of its logarithm counts against.
    wanted.magnitude += (std::abs(target) + even) * std::abs(weight) * (1 + log_sum + largest - in[0][i]);
  }
  return wanted;
}

// The max is subtracted before the logarithm and added after it: its gradient is 0.
Tensor gradient(const Vjp& v) {
  const std::int64_t axis = v.get<std::int64_t>("dim");
  const auto target = v.get<std::optional<Tensor>>("target"), weight = v.get<std::optional<Tensor>>("weight");
  const double smoothing = v.get<double>("label_smoothing");
  const Tensor to_log = v.grad(1).unsqueeze(axis);
  std::optional<Tensor> to_loss;
  if (target || smoothing > 0) to_loss = v.grad(2).unsqueeze(axis);
  const Tensor result =
      internal::cross_entropy_rows_backward(to_log, to_loss, v["self"], axis, target, weight, smoothing);
  const Tensor place = argmax(v["self"], axis, KeepDims::Yes);
  return scatter_add(result, axis, place, to(v.grad(0).unsqueeze(axis) - to_log, v.dtype("self")));
}
// What flows to p, which is -log softmax.
Tensor to_probability(const Vjp& v) {
  const std::int64_t axis = v.get<std::int64_t>("dim");
  return neg(v.grad(2).unsqueeze(axis) * log_softmax(v["self"], axis));
}

}  // namespace

namespace ops {
OpDef define_cross_entropy_rows() {
  RowsDef def =
      parts(rows_op<cross_entropy_rows_body>(
                "cross_entropy_rows(Tensor self, int dim, Tensor? target=None, Tensor? weight=None, "
                "float label_smoothing=0) -> Tensor[]")
                .max_ulp(4)
                .refuses_empty()
                .reference(reference));
  def = against_even(std::move(def).program("even").params({0.1}));
  def = against_target(std::move(def).program("target").inputs(2));
  return against_target(std::move(def).program("weighted_target").inputs(3))
      .vjp("self", "self dim target weight label_smoothing", gradient)
      .vjp("target", "self dim weight label_smoothing",
           [](const Vjp& v) {
             const auto weight = v.get<std::optional<Tensor>>("weight");
             const Tensor grad = scaled(to_probability(v), 1 - v.get<double>("label_smoothing"));
             return weight ? grad * *weight : grad;
           })
      .vjp("weight", "self dim target label_smoothing",
           [](const Vjp& v) {
             return to_probability(v) * loss_probability(v["self"], v.get<std::int64_t>("dim"),
                                                         v.get<std::optional<Tensor>>("target"), std::nullopt,
                                                         v.get<double>("label_smoothing"));
           })
      .samples([](Sampler& s) {
        return SampleCalls{{s.apart({3, 4}), Dim(1)},
                           {s.apart({3, 4}), Dim(0), Value(), Value(), 0.1},
                           {s.apart({3, 4}), Dim(1), s({3, 4}), Value(), 0.1},
                           {s.apart({3, 4}), Dim(1), s({3, 4}), s({4}), 0.1}};
      });
}
}  // namespace ops

namespace internal {
std::vector<Tensor> cross_entropy_rows(const Tensor& self, std::int64_t axis,
                                       const std::optional<Tensor>& target,
                                       const std::optional<Tensor>& weight, double label_smoothing,
                                       Site site) {
  return call<"cross_entropy_rows", cross_entropy_rows_body>(site, self, axis, target, weight,
                                                             label_smoothing);
}
}  // namespace internal

}  // namespace pel
