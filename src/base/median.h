// Medians of values; 0 if there are none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pel {

// Of an even number, the larger of the two in the middle.
template <class T>
T median_of(std::vector<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of an even number, the smaller of the two in the middle.
template <class T>
T lower_median_of(std::vector<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace pel
