// What rms_norm and its backward op share.
#pragma once

#include <limits>

#include "ops/shared/norm.h"

namespace pel {

// As in PyTorch: the distance from 1 to the next number of the dtype, where none is given.
inline double rms_eps(std::optional<double> eps, DType dtype) {
  return eps.value_or(dtype == kF64    ? std::numeric_limits<double>::epsilon()
                      : dtype == kF32  ? std::numeric_limits<float>::epsilon()
                      : dtype == kBF16 ? 0x1p-7
                                       : 0x1p-10);
}
// Folds 1 / sqrt(mean(x^2) + eps) of elements x; the first number is eps.
inline RowsDef rms_fold(RowsDef def, RowFormula element) {
  return std::move(def).fold(
      FoldKind::Sum,
      [element = std::move(element)](const RowTerms& t) {
        const Term x = element(t);
        return x * x;
      },
      [](const RowTerms& t) { return 1 / sqrt(t.values[0] / t.count + t.numbers[0]); });
}
inline RowsDef rms_fold(RowsDef def, std::size_t input) {
  return rms_fold(std::move(def), [input](const RowTerms& t) { return t.in[input]; });
}
inline long double rstd_of(const std::vector<long double>& row, double eps) {
  return 1 / std::sqrt(mean_of_squares(row) + static_cast<long double>(eps));
}

}  // namespace pel
