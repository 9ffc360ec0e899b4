#include "doctor/compare/longest_common.h"

#include <algorithm>
#include <unordered_map>

namespace pel::doctor {

// Myers 1986, "An O(ND) difference algorithm": how far each diagonal reaches with so many edits.
std::optional<std::vector<IndexPair>> longest_common(std::span<const std::uint32_t> a,
                                                     std::span<const std::uint32_t> b,
                                                     std::size_t max_edits) {
  const auto size_a = static_cast<std::int64_t>(a.size()), size_b = static_cast<std::int64_t>(b.size());
  const auto most = std::min(static_cast<std::int64_t>(max_edits), size_a + size_b);
  std::vector<std::int32_t> reach(static_cast<std::size_t>(2 * most + 3),
                                  0);             // of diagonal k at k + most + 1
  std::vector<std::vector<std::int32_t>> rounds;  // reach of -d to d, after d edits
  const auto at = [&](std::int64_t k) -> std::int32_t& {
    return reach[static_cast<std::size_t>(k + most + 1)];
  };
  const auto goes_down = [](std::int64_t k, std::int64_t d, auto&& of) {
    return k == -d || (k != d && of(k - 1) < of(k + 1));
  };
  std::int64_t edits = -1;
  for (std::int64_t d = 0; d <= most && edits < 0; ++d) {
    for (std::int64_t k = -d; k <= d; k += 2) {
      std::int64_t x = goes_down(k, d, at) ? at(k + 1) : at(k - 1) + 1;
      if (d == 0) x = 0;
      while (x < size_a && x - k < size_b &&
             a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)])
        ++x;
      at(k) = static_cast<std::int32_t>(x);
      if (x >= size_a && x - k >= size_b) {
        edits = d;
        break;
      }
    }
    rounds.emplace_back(reach.begin() + static_cast<std::ptrdiff_t>(most + 1 - d),
                        reach.begin() + static_cast<std::ptrdiff_t>(most + 2 + d));
  }
  if (edits < 0) return std::nullopt;
  std::vector<IndexPair> pairs;
  std::int64_t x = size_a, y = size_b;
  for (std::int64_t d = edits; d >= 0; --d) {
    const std::int64_t k = x - y;
    std::int64_t from_x = 0, from_y = 0;
    if (d > 0) {
      const auto before = [&](std::int64_t diagonal) -> std::int64_t {
        return rounds[static_cast<std::size_t>(d - 1)][static_cast<std::size_t>(diagonal + d - 1)];
      };
      const std::int64_t from = goes_down(k, d, before) ? k + 1 : k - 1;
      from_x = before(from);
      from_y = from_x - from;
    }
    while (x > from_x && y > from_y)
      pairs.emplace_back(static_cast<std::uint32_t>(--x), static_cast<std::uint32_t>(--y));
    x = from_x;
    y = from_y;
  }
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<IndexPair> common_by_count(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> places;
  for (std::size_t i = b.size(); i-- > 0;) places[b[i]].push_back(static_cast<std::uint32_t>(i));
  std::vector<IndexPair> pairs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto found = places.find(a[i]);
    if (found == places.end() || found->second.empty()) continue;
    pairs.emplace_back(static_cast<std::uint32_t>(i), found->second.back());
    found->second.pop_back();
  }
  return pairs;
}

}  // namespace pel::doctor
