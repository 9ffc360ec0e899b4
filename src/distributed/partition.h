// Which rank owns which elements of a list of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pel::dist {

inline constexpr std::int64_t kFoldBlock = 1024;  // elements that a sum adds before others, by decision 0010

struct ElementRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// The tensors, one after another, are cut into one part for each rank. Cuts are at the multiples of
// kFoldBlock of a tensor that are near equal parts, so that each block of a sum over it is on one rank.
class Partition {
 public:
  Partition(const std::vector<std::int64_t>& counts, int ranks);

  int ranks() const { return static_cast<int>(cuts_.size()) - 1; }
  std::int64_t count() const { return starts_.back(); }
  // Of all tensors one after another.
  ElementRange of_rank(int rank) const;
  std::int64_t largest() const;  // of the ranks' parts
  // The part of a tensor that a rank owns, from the tensor's first element on.
  ElementRange of_tensor(std::size_t tensor, int rank) const;
  // Where that part begins in the part of the rank.
  std::int64_t offset_in_rank(std::size_t tensor, int rank) const;

 private:
  std::vector<std::int64_t> starts_;  // of each tensor, and the end
  std::vector<std::int64_t> cuts_;    // where the part of each rank begins, and the end
};

}  // namespace pel::dist
