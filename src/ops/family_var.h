// What var, std and var_mean share: the mean, then the squares of the differences from it.
#pragma once

#include "ops/family_rows.h"

namespace pel {

// Folds the mean, then the variance; the one param is the correction.
inline RowsDef variance_folds(RowsDef def) {
  return std::move(def)
      .computes(kFloating)
      .values_in(value_type)
      .params({1})
      .fold(FoldKind::Sum, the_element, mean_of_fold)
      .fold(FoldKind::Sum, squared_difference,
            [](const RowTerms& t) { return t.values[1] / max(t.count - t.numbers[0], 0.0); })
      .max_ulp(8);
}
inline RowProgram::Wanted variance_of(const std::vector<long double>& row, double correction) {
  const auto count = static_cast<long double>(row.size());
  const long double mean = sum_of(row) / count;
  long double squares = 0, size = 0;
  for (const long double x : row) {
    squares += (x - mean) * (x - mean);
    size += x * x;
  }
  const long double over = std::max(count - static_cast<long double>(correction), 0.0L);
  return {squares / over, size / over / 16};
}

}  // namespace pel
