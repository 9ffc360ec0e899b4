#include "distributed/partition.h"

#include <algorithm>

namespace pel::dist {

Partition::Partition(const std::vector<std::int64_t>& counts, int ranks) : starts_{0}, cuts_{0} {
  for (const std::int64_t count : counts) starts_.push_back(starts_.back() + count);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t equal = count() * rank / ranks;
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), equal);
    if (after == starts_.end()) {  // there are no elements
      cuts_.push_back(count());
      continue;
    }
    const std::int64_t begin = *(after - 1);
    cuts_.push_back(std::min(begin + (equal - begin + kFoldBlock / 2) / kFoldBlock * kFoldBlock, *after));
  }
  cuts_.push_back(count());
}

ElementRange Partition::of_rank(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return {cuts_[r], cuts_[r + 1]};
}

std::int64_t Partition::largest() const {
  std::int64_t largest = 0;
  for (int rank = 0; rank < ranks(); ++rank) largest = std::max(largest, of_rank(rank).size());
  return largest;
}

ElementRange Partition::of_tensor(std::size_t tensor, int rank) const {
  const ElementRange part = of_rank(rank);
  const std::int64_t start = starts_[tensor], end = starts_[tensor + 1];
  const std::int64_t from = std::clamp(part.begin, start, end), to = std::clamp(part.end, start, end);
  return {from - start, to - start};
}

std::int64_t Partition::offset_in_rank(std::size_t tensor, int rank) const {
  return std::clamp(starts_[tensor], of_rank(rank).begin, of_rank(rank).end) - of_rank(rank).begin;
}

}  // namespace pel::dist
