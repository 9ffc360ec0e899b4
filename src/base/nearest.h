// For a name that is not there: the one that was probably meant.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace pel {

namespace detail {
// Letters to insert, drop or replace.
inline std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}
}  // namespace detail

// "; did you mean 'softmax'?", or nothing where no name is near.
inline std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string* nearest = nullptr;
  std::size_t fewest = name.size() / 3 + 2;  // a third of its letters, and one, may be wrong
  for (const std::string& candidate : names) {
    const std::size_t wrong = detail::distance(name, candidate);
    if (wrong >= fewest || wrong >= candidate.size()) continue;
    fewest = wrong;
    nearest = &candidate;
  }
  return nearest == nullptr ? "" : fmt::format("; did you mean '{}'?", *nearest);
}

}  // namespace pel
