// Where the entries of an event may stand in a list that is ordered by event: a search looks at a few of
// them, not all over memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pel::doctor {

class EventIndex {
 public:
  struct Range {
    std::size_t begin, end;
  };
  // To be called for the entries one after the other, with their places.
  void add(std::uint32_t event, std::size_t place) {
    while (begins_.size() <= event / kBlock) begins_.push_back(static_cast<std::uint32_t>(place));
  }
  // Of a list of that size.
  Range find(std::uint32_t event, std::size_t size) const {
    const std::size_t block = event / kBlock;
    if (block >= begins_.size()) return {size, size};
    return {begins_[block], block + 1 < begins_.size() ? begins_[block + 1] : size};
  }

 private:
  static constexpr std::uint32_t kBlock = 32;
  std::vector<std::uint32_t> begins_;  // for each block of events
};

}  // namespace pel::doctor
