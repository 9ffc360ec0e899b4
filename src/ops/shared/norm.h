// What the normalization ops share: their axes, and references for tests.
#pragma once

#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

namespace pel {

// The last axes, which must have these sizes.
AxisSet normalized_axes(const Tensor& self, Dims normalized_shape);
// All others.
inline AxisSet other_axes(const Tensor& self, AxisSet reduced) { return axis_set(self, Axes()) & ~reduced; }

// The mean and 1 / sqrt(var + eps) of a row, and the row with them taken out; the second input is a weight,
// the third a bias. `inputs_of` returns the terms with these inputs, if those of the op are others.
using RowInputs = RowTerms (*)(const RowTerms& t);
inline RowTerms as_given(const RowTerms& t) { return t; }
RowsDef norm_program(RowsDef def, RowInputs inputs_of = as_given);
// Launches the one of three norm_programs that takes what there is: no weight, a weight, or a weight and a
// bias.
std::vector<Tensor> run_norm(const Op& op, std::vector<TensorRef> inputs, Dims normalized_shape,
                             const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                             double eps);
Term normalized_row(const RowTerms& t, Term mean, Term rstd);
// Of output 0, the row, 1, the mean, and 2, 1 / sqrt(var + eps).
RowProgram::Wanted norm_reference(const RowData& in, const RowParams& params, int output, std::size_t place);

// Gradients: of rows without a weight, of rows with one, and of weight and bias. Inputs are grad, self,
// the weight if there is one, mean and rstd.
enum NormBackward : std::size_t { kNormBackwardPlain, kNormBackwardWeight, kNormBackwardParameters };
RowsDef norm_backward_programs(RowsDef def);

// The gradients of a norm, in terms of ops: for the backward ops' own gradients, and for norms without
// a backward op. All broadcast to self; rows lie along `axes`.
struct NormBackwardCall {
  Tensor grad, centred, rstd;  // centred: self - mean
  Tensor weight;               // undefined: none
  std::vector<std::int64_t> axes;
  bool takes_mean_out = true;  // rms_norm does not

  Tensor normalized() const { return centred * rstd; }
  Tensor weighted() const { return weight.defined() ? grad * weight : grad; }
  Tensor self_gradient() const;
  // The gradients of these arguments from those of what flows back to self, weight and bias; undefined ones
  // of the last two are 0. All have self's sizes, still to be summed where the argument is broadcast.
  NormBackwardCall gradients(const Tensor& of_self, const Tensor& of_weight, const Tensor& of_bias) const;

 private:
  Tensor without_rows(const Tensor& t) const;
};
// The gradient through a norm's mean and 1 / sqrt(var + eps) of `count` elements; undefined ones are 0.
Tensor statistics_gradient(const Tensor& of_mean, const Tensor& of_rstd, const Tensor& centred,
                           const Tensor& rstd, Dim count);
// The axes that `normalized_shape` names, from the end.
std::vector<std::int64_t> last_axes(Dims normalized_shape);

inline long double mean_of_squares(const std::vector<long double>& row) {
  long double sum = 0;
  for (const long double x : row) sum += x * x;
  return sum / static_cast<long double>(row.size());
}

}  // namespace pel
