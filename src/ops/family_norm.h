// What the normalisations share: the axes, and what their tests are told.
#pragma once

#include "ops/family_rows.h"

namespace pel {

// The last axes, which must have these sizes.
AxisSet normalized_axes(const Tensor& self, Dims normalized_shape);
// All others.
inline AxisSet other_axes(const Tensor& self, AxisSet reduced) { return axis_set(self, Axes()) & ~reduced; }

inline long double mean_of_squares(const std::vector<long double>& row) {
  long double sum = 0;
  for (const long double x : row) sum += x * x;
  return sum / static_cast<long double>(row.size());
}

}  // namespace pel
