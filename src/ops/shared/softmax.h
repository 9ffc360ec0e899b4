// What softmax, log_softmax and logsumexp share: the max, then the sum of e^(x - max).
#pragma once

#include "ops/shared/rows.h"

namespace pel {

// An infinite max is not subtracted: inf - inf is NaN.
inline Term shifted(const RowTerms& t) { return t.in[0] - t.values[0]; }
// Where it rounds to 0, as it does under a mask, e^x is not computed: a product that small takes a processor
// a hundred times as long as another.
inline Term exp_or_zero(Term x) {
  const Term is_zero = x < (x.type() == kF64 ? -746.0 : -104.0);
  return select(is_zero, 0, exp(select(is_zero, 0, x)));
}
inline RowsDef exponential_folds(RowsDef def, RowFormula finish_sum, RowFormula finish_max = nullptr) {
  return std::move(def)
      .computes(kFloating)
      .values_in(value_type)
      .fold(FoldKind::Max, the_element, std::move(finish_max))
      .fold(FoldKind::Sum, [](const RowTerms& t) { return exp_or_zero(shifted(t)); }, std::move(finish_sum));
}
inline long double sum_of_exponentials(const std::vector<long double>& row) {
  const long double largest = std::ranges::max(row);
  long double sum = 0;
  for (const long double x : row) sum += std::exp(x - largest);
  return sum;
}

}  // namespace pel
