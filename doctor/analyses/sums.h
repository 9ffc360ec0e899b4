// Sums by group, and the largest of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/sort_stably.h"

namespace pel::doctor {

// The groups of a map with the largest `measure` first; equal ones in the order of their keys.
template <class Key, class Group, class Measure>
std::vector<std::pair<const Key*, const Group*>> by_largest(const std::map<Key, Group>& groups,
                                                            Measure measure) {
  std::vector<std::pair<const Key*, const Group*>> order;
  order.reserve(groups.size());
  for (const auto& [key, group] : groups) order.emplace_back(&key, &group);
  sort_stably(order, [&](const auto& a, const auto& b) { return measure(*a.second) > measure(*b.second); });
  return order;
}

inline double percent_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace pel::doctor
