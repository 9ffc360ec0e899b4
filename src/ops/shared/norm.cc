#include "ops/shared/norm.h"

#include "pellucid/ops.h"

#include "base/check.h"
#include "tensor/make.h"

namespace pel {

AxisSet normalized_axes(const Tensor& self, Dims normalized_shape) {
  const std::size_t rank = self.sizes().size(), count = normalized_shape.size();
  bool fits = count >= 1 && count <= rank;
  for (std::size_t i = 0; fits && i < count; ++i)
    fits = self.sizes()[rank - count + i] == normalized_shape[i];
  PEL_CHECK(fits, ShapeError, "normalized_shape {} is not how the sizes of {} end",
            to_string(normalized_shape), describe(self));
  return axis_set(self, Axes()) & ~((AxisSet{1} << (rank - count)) - 1);
}

Term normalized_row(const RowTerms& t, Term mean, Term rstd) {
  const Term plain = (t.in[0] - mean) * rstd;
  return t.in.size() == 1 ? plain : t.in.size() == 2 ? plain * t.in[1] : fma(plain, t.in[1], t.in[2]);
}

RowsDef norm_program(RowsDef def, RowInputs inputs_of) {
  return std::move(def)
      .computes(kFloating)
      .values_in(value_type)
      .params({1e-5})
      .max_ulp(4)
      .refuses_empty()
      .reference(norm_reference)
      .fold(
          FoldKind::Sum, [inputs_of](const RowTerms& t) { return the_element(inputs_of(t)); }, mean_of_fold)
      .fold(
          FoldKind::Sum, [inputs_of](const RowTerms& t) { return squared_difference(inputs_of(t)); },
          [](const RowTerms& t) { return 1 / sqrt(t.values[1] / t.count + t.numbers[0]); })
      .gives_row(
          [inputs_of](const RowTerms& t) { return normalized_row(inputs_of(t), t.values[0], t.values[1]); })
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type);
}

std::vector<Tensor> run_norm(const Op& op, std::vector<TensorRef> inputs, Dims normalized_shape,
                             const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                             double eps) {
  enum Program : std::size_t { kPlain, kWeight, kWeightAndBias };
  const Tensor& self = *inputs[0].tensor;
  RowsCall call{check_floating(self), normalized_axes(self, normalized_shape), KeepDims::Yes, kPlain};
  std::optional<Tensor> one;
  if (weight || bias) {
    if (!weight) one = full({}, 1, {self.dtype(), self.device()});
    inputs.emplace_back(weight ? *weight : *one);
    call.program = kWeight;
  }
  if (bias) {
    inputs.emplace_back(*bias);
    call.program = kWeightAndBias;
  }
  return run_rows(op, inputs, call, {eps});
}

RowProgram::Wanted norm_reference(const RowData& in, const RowParams& params, int output, std::size_t place) {
  const long double mean = sum_of(in[0]) / static_cast<long double>(in[0].size());
  std::vector<long double> differences;
  for (const long double x : in[0]) differences.push_back(x - mean);
  const long double rstd = 1 / std::sqrt(mean_of_squares(differences) + static_cast<long double>(params[0]));
  const long double size = sum_of_sizes(in[0]) / static_cast<long double>(in[0].size());
  if (output == 1) return {mean, size};
  // The error of the mean counts where the row is nearly one number.
  const long double unsure = 1 + size * size * rstd * rstd;
  if (output == 2) return {rstd, rstd * unsure};
  const long double weight = in.size() > 1 ? in[1][place] : 1, bias = in.size() > 2 ? in[2][place] : 0;
  const long double scale = std::abs(weight) * (std::abs(in[0][place]) + size) * rstd * unsure;
  return {(in[0][place] - mean) * rstd * weight + bias, scale + std::abs(bias)};
}

namespace {

// Inputs: grad, self, weight if there is one, mean, rstd.
Term normalized(const RowTerms& t) { return (t.in[1] - t.in[t.in.size() - 2]) * t.in.back(); }
Term weighted(const RowTerms& t) { return t.in.size() == 5 ? t.in[0] * t.in[2] : t.in[0]; }

RowsDef row_program(RowsDef def) {
  return std::move(def)
      .fold(
          FoldKind::Sum, [](const RowTerms& t) { return weighted(t) * normalized(t); }, mean_of_fold)
      .fold(FoldKind::Sum, weighted, mean_of_fold)
      .gives_row([](const RowTerms& t) {
        return (weighted(t) - normalized(t) * t.values[0] - t.values[1]) * t.in.back();
      });
}

long double weighted_at(const RowData& in, std::size_t i) {
  return in.size() == 5 ? in[0][i] * in[2][i] : in[0][i];
}
long double normalized_at(const RowData& in, std::size_t i) {
  return (in[1][i] - in[in.size() - 2][i]) * in.back()[i];
}
RowProgram::Wanted row_reference(const RowData& in, const RowParams&, int, std::size_t place) {
  const auto count = static_cast<long double>(in[0].size());
  long double along = 0, across = 0, along_size = 0, across_size = 0;
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    along += weighted_at(in, i) * normalized_at(in, i) / count;
    along_size += std::abs(weighted_at(in, i) * normalized_at(in, i)) / count;
    across += weighted_at(in, i) / count;
    across_size += std::abs(weighted_at(in, i)) / count;
  }
  const long double w = weighted_at(in, place), x = normalized_at(in, place), r = in.back()[place];
  return {(w - x * along - across) * r,
          (std::abs(w) + 2 * std::abs(x) * along_size + across_size) * std::abs(r)};
}

}  // namespace

RowsDef norm_backward_programs(RowsDef def) {
  def = std::move(def)
            .inputs(4, 2)
            .computes(kFloating)
            .values_in(value_type)
            .max_ulp(4)
            .domain(0.5, 2)
            .reference(row_reference);
  def = row_program(std::move(def));
  def = row_program(std::move(def).program("weight").inputs(5, 3));
  return std::move(def)
      .program("parameters")
      .inputs(4, 2)
      .fold(FoldKind::Sum, [](const RowTerms& t) { return t.in[0] * normalized(t); })
      .fold(FoldKind::Sum, the_element)
      .gives_value(first_value)
      .gives_value(second_value)
      .reference([](const RowData& in, const RowParams&, int output, std::size_t) {
        if (output == 1) return RowProgram::Wanted{sum_of(in[0]), sum_of_sizes(in[0])};
        long double sum = 0, size = 0;
        for (std::size_t i = 0; i < in[0].size(); ++i) {
          sum += in[0][i] * normalized_at(in, i);
          size += std::abs(in[0][i]) * (std::abs(in[1][i]) + std::abs(in[2][i])) * std::abs(in[3][i]);
        }
        return RowProgram::Wanted{sum, size};
      });
}

// Of a row only what the normalized row and the mean leave.
Tensor NormBackwardCall::without_rows(const Tensor& t) const {
  const Tensor along = mean(t * normalized(), axes, KeepDims::Yes);
  const Tensor rest = t - normalized() * along;
  return takes_mean_out ? rest - mean(t, axes, KeepDims::Yes) : rest;
}

Tensor NormBackwardCall::self_gradient() const { return without_rows(weighted()) * rstd; }

NormBackwardCall NormBackwardCall::gradients(const Tensor& of_self, const Tensor& of_weight,
                                             const Tensor& of_bias) const {
  const Tensor flow = of_self * rstd, x = normalized(), w = weighted();
  const Tensor to_weighted = without_rows(flow);
  Tensor to_normalized = -(flow * mean(w * x, axes, KeepDims::Yes) + w * mean(flow * x, axes, KeepDims::Yes));
  Tensor to_grad = weight.defined() ? to_weighted * weight : to_weighted;
  if (of_weight.defined()) {
    to_grad = to_grad + of_weight * x;
    to_normalized = to_normalized + of_weight * grad;
  }
  if (of_bias.defined()) to_grad = to_grad + of_bias;
  const Tensor to_rstd = of_self * without_rows(w) + to_normalized * centred;
  return {to_grad, to_normalized * rstd, to_rstd, to_weighted * grad, axes, takes_mean_out};
}

Tensor statistics_gradient(const Tensor& of_mean, const Tensor& of_rstd, const Tensor& centred,
                           const Tensor& rstd, Dim count) {
  Tensor total;
  if (of_mean.defined()) total = of_mean / Scalar(count);
  if (!of_rstd.defined()) return total;
  const Tensor from_rstd = of_rstd * rstd * rstd * rstd * centred / Scalar(-count);
  return total.defined() ? total + from_rstd : from_rstd;
}

std::vector<std::int64_t> last_axes(Dims normalized_shape) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < normalized_shape.size(); ++i) axes.push_back(-1 - static_cast<std::int64_t>(i));
  return axes;
}

}  // namespace pel
