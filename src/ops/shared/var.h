// What var, std and var_mean share: the mean, then the squares of the differences from it.
#pragma once

#include "ops/shared/rows.h"
#include "ops/shared/vjp.h"

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
// Of a variance, from its gradient. Keeps "self dim correction keepdim".
inline Tensor variance_gradient(const Vjp& v, const Tensor& grad) {
  const Tensor& self = v["self"];
  const auto axes = v.get<Axes>("dim");
  const auto correction = v.get<Scalar>("correction");
  const Dim count = count_along(self.sizes(), axes);
  // Negative only if there are no elements.
  const bool is_plain = !correction.is_float() && correction.to_int() <= 1;
  const Scalar over =
      is_plain ? Scalar(count - correction.to_int())
               : Scalar(std::max(static_cast<double>(count.value()) - correction.to_double(), 0.0));
  const Tensor differences = self - mean(self, axes, KeepDims::Yes);
  return with_axes_kept(grad, self.sizes(), axes, v.get<KeepDims>("keepdim")) * 2 / over * differences;
}
inline SampleCalls variance_samples(Sampler& s) {
  return {{s({2, 3})},
          {s({2, 3, 2}), std::vector<Dim>{0, -1}, Scalar(0)},
          {s({3, 4}), std::vector<Dim>{1}, Scalar(1.5), true}};
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
