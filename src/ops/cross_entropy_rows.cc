// What cross_entropy takes from each row: the greatest logit, the logarithm of the sum of exponentials, and
// the loss against a distribution over the classes.
#include "ops/family_loss.h"
#include "ops/family_softmax.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kEven, kTarget, kWeightedTarget };

std::vector<Tensor> cross_entropy_rows_body(const Op& op, const Tensor& self, std::int64_t axis,
                                            const std::optional<Tensor>& target,
                                            const std::optional<Tensor>& weight, double label_smoothing) {
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

// Values are the greatest, the logarithm of the sum, then the sums below. A NaN, or one that is infinite,
// makes the sum NaN; the greatest need not tell. It adds 1 to the sum, so that the least terms do not count.
RowsDef exponentials(RowsDef def) {
  return std::move(def)
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Greatest, the_element)
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return exp_term(shifted(t)); },
          [](const RowTerms& t) { return log(t.values[1]); });
}
RowsDef parts(RowsDef def) {
  return exponentials(std::move(def))
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type);
}
Term probability(const RowTerms& t) {
  const Term p = fma(t.in[1], 1 - t.numbers[0], t.numbers[0] / t.count);
  return t.in.size() > 2 ? p * t.in[2] : p;
}
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
  const long double greatest = std::ranges::max(in[0]);
  const long double log_sum = std::log(sum_of_exponentials(in[0]));
  if (output == 0) return {greatest, 0};
  if (output == 1) return {log_sum, 1};
  const auto smoothing = static_cast<long double>(params[0]);
  RowProgram::Wanted wanted{0, 0};
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const long double weight = in.size() > 2 ? in[2][i] : 1;
    const long double even = smoothing / static_cast<long double>(in[0].size());
    const long double target = in.size() > 1 ? in[1][i] : 0;
    const long double p = (target * (1 - smoothing) + even) * weight;
    wanted.value += p * (log_sum - (in[0][i] - greatest));
    // The sum of exponentials is 1 at least, and so is what the error of its logarithm counts against.
    wanted.magnitude += (std::abs(target) + even) * std::abs(weight) * (1 + log_sum + greatest - in[0][i]);
  }
  return wanted;
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
  return against_target(std::move(def).program("weighted_target").inputs(3));
}
}  // namespace ops

std::vector<Tensor> cross_entropy_rows(const Tensor& self, std::int64_t axis,
                                       const std::optional<Tensor>& target,
                                       const std::optional<Tensor>& weight, double label_smoothing,
                                       Site site) {
  return call<"cross_entropy_rows", cross_entropy_rows_body>(site, self, axis, target, weight,
                                                             label_smoothing);
}

}  // namespace pel
