// Longest common subsequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pel::doctor {

using IndexPair = std::pair<std::uint32_t, std::uint32_t>;

// The positions of a longest common subsequence, ascending. Takes time of (|a| + |b|) times the number of
// elements that only one of them has, and memory of its square; nothing: there are more than `max_edits`.
std::optional<std::vector<IndexPair>> longest_common(std::span<const std::uint32_t> a,
                                                     std::span<const std::uint32_t> b, std::size_t max_edits);

// The k-th of a value with the k-th of that value, wherever they stand; by position in `a`.
std::vector<IndexPair> common_by_count(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

}  // namespace pel::doctor
