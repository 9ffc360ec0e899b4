// std::stable_sort of g++ 12 takes its buffer from a function that C++17 deprecates, which clang does not let
// pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace pel {

// Equal values keep their order.
template <class T, class Less>
void sort_stably(std::vector<T>& values, Less less) {
  if (std::is_sorted(values.begin(), values.end(), less)) return;
  std::vector<T> merged(values.size());
  const auto at = [](std::vector<T>& of, std::size_t i) {
    return of.begin() + static_cast<std::ptrdiff_t>(i);
  };
  for (std::size_t width = 1; width < values.size(); width *= 2) {
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, values.size());
      const std::size_t end = std::min(middle + width, values.size());
      const auto moved = [&](std::size_t i) { return std::make_move_iterator(at(values, i)); };
      std::merge(moved(begin), moved(middle), moved(middle), moved(end), at(merged, begin), less);
    }
    values.swap(merged);
  }
}

}  // namespace pel
