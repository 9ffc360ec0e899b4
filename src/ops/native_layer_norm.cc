// (x - mean) / sqrt(var + eps) * weight + bias over the last axes, with the mean and 1 / sqrt(var + eps).
#include "pellucid/normalization.h"
#include "pellucid/ops.h"

#include "ops/family_norm.h"

namespace pel {
namespace {

enum Program : std::size_t { kPlain, kWeight, kWeightAndBias };

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_body(const Op& op, const Tensor& self,
                                                          Dims normalized_shape,
                                                          const std::optional<Tensor>& weight,
                                                          const std::optional<Tensor>& bias, double eps) {
  RowsCall call{check_floating(self), normalized_axes(self, normalized_shape), KeepDims::Yes, kPlain};
  std::vector<TensorRef> inputs = {self};
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
  const std::vector<Tensor> results = run_rows(op, inputs, call, {eps});
  return {results[0], results[1], results[2]};
}

Term normalized(const RowTerms& t) { return (t.in[0] - t.values[0]) * t.values[1]; }

RowsDef layer_folds(RowsDef def) {
  return std::move(def)
      .fold(FoldKind::Sum, the_element, mean_of_fold)
      .fold(FoldKind::Sum, squared_difference,
            [](const RowTerms& t) { return 1 / sqrt(t.values[1] / t.count + t.numbers[0]); });
}
RowsDef layer_outputs(RowsDef def, RowFormula row) {
  return std::move(def)
      .gives_row(std::move(row))
      .gives_value(first_value, value_type)
      .gives_value(second_value, value_type);
}

RowProgram::Wanted layer_reference(const RowData& in, const RowParams& params, int output,
                                   std::size_t place) {
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

}  // namespace

namespace ops {
OpDef define_native_layer_norm() {
  RowsDef def = rows_op<native_layer_norm_body>(
                    "native_layer_norm(Tensor self, Dim[] normalized_shape, Tensor? weight=None, Tensor? "
                    "bias=None, float eps=1e-05) -> (Tensor, Tensor, Tensor)")
                    .computes(kFloating)
                    .values_in(value_type)
                    .params({1e-5})
                    .max_ulp(4)
                    .refuses_empty()
                    .reference(layer_reference);
  def = layer_outputs(layer_folds(std::move(def)), normalized);
  def = layer_outputs(layer_folds(std::move(def).program("weight").inputs(2)),
                      [](const RowTerms& t) { return normalized(t) * t.in[1]; });
  return layer_outputs(layer_folds(std::move(def).program("affine").inputs(3)),
                       [](const RowTerms& t) { return fma(normalized(t), t.in[1], t.in[2]); });
}
}  // namespace ops

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& self, Dims normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias, double eps,
                                                     Site site) {
  return call<"native_layer_norm", native_layer_norm_body>(site, self, normalized_shape, weight, bias, eps);
}

}  // namespace pel
