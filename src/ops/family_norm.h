// What the normalisations share: the axes, and what their tests are told.
#pragma once

#include "ops/family_rows.h"

namespace pel {

// The last axes, which must have these sizes.
AxisSet normalized_axes(const Tensor& self, Dims normalized_shape);
// All others.
inline AxisSet other_axes(const Tensor& self, AxisSet reduced) { return axis_set(self, Axes()) & ~reduced; }

// The mean and 1 / sqrt(var + eps) of a row, and the row with them taken out; the second input is a weight,
// the third a bias.
RowsDef norm_program(RowsDef def);
Term normalized_row(const RowTerms& t, Term mean, Term rstd);
// Of output 0, the row, 1, the mean, and 2, 1 / sqrt(var + eps).
RowProgram::Wanted norm_reference(const RowData& in, const RowParams& params, int output, std::size_t place);

// What flows back: to rows without a weight, to rows with one, and to weight and bias. Inputs are grad, self,
// the weight where there is one, mean and rstd.
enum NormBackward : std::size_t { kNormBackwardPlain, kNormBackwardWeight, kNormBackwardParameters };
RowsDef norm_backward_programs(RowsDef def);

inline long double mean_of_squares(const std::vector<long double>& row) {
  long double sum = 0;
  for (const long double x : row) sum += x * x;
  return sum / static_cast<long double>(row.size());
}

}  // namespace pel
