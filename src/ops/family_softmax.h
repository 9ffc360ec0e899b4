// What softmax, log_softmax and logsumexp share: the greatest element, then the sum of e^(x - greatest).
#pragma once

#include "ops/family_rows.h"

namespace pel {

// Of an infinite greatest element nothing is taken away: inf - inf is NaN.
inline Term shifted(const RowTerms& t) { return t.in[0] - t.values[0]; }
inline RowsDef exponential_folds(RowsDef def, RowFormula finish_sum, RowFormula finish_greatest = nullptr) {
  return std::move(def)
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Max, the_element, std::move(finish_greatest))
      .fold(FoldKind::Sum, [](const RowTerms& t) { return exp(shifted(t)); }, std::move(finish_sum));
}
inline long double sum_of_exponentials(const std::vector<long double>& row) {
  const long double greatest = std::ranges::max(row);
  long double sum = 0;
  for (const long double x : row) sum += std::exp(x - greatest);
  return sum;
}

}  // namespace pel
