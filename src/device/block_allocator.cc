#include "device/block_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace pel {

std::int64_t BlockAllocator::round_up(std::int64_t bytes) {
  std::int64_t step = kMinBytes;
  while (step * 16 < bytes) step *= 2;
  return std::max<std::int64_t>((bytes + step - 1) / step * step, kMinBytes);
}

// Of sizes that round_up returns: multiples of 64 up to 1024, then eight for each power of two.
int BlockAllocator::class_of(std::int64_t rounded) {
  const auto units = static_cast<std::uint64_t>(rounded / kMinBytes);
  if (units <= 16) return static_cast<int>(units) - 1;
  const int power = static_cast<int>(std::bit_width(units - 1)) - 1;  // 2^power < units <= 2^(power + 1)
  return 8 * (power - 2) + static_cast<int>(((units - 1) >> (power - 3)) & 7);
}

DeviceBlock* BlockAllocator::mark_used(DeviceBlock* block) {
  used_bytes_ += block->bytes;
  ++segments_[static_cast<std::size_t>(block->segment)].used_blocks;
  return block;
}

// The block that was freed last of those that need no order with another stream. Looks at a few only: lists
// may be long where another stream has freed many.
DeviceBlock* BlockAllocator::take_free(std::vector<DeviceBlock*>& list, std::uint8_t stream,
                                       IsOrdered is_ordered, const void* context) {
  constexpr std::size_t kMaxTries = 16;
  const std::size_t tries = std::min(list.size(), kMaxTries);
  for (std::size_t i = 0; i < tries; ++i) {
    const std::size_t at = list.size() - 1 - i;
    DeviceBlock* const block = list[at];
    const bool is_own = block->first.stream == stream && block->others.empty();
    if (!is_own && !is_ordered(context, *block, stream)) continue;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    ++reused_;
    return mark_used(block);
  }
  return nullptr;
}

DeviceBlock* BlockAllocator::cut_from(int segment, std::int64_t rounded, std::uint8_t stream) {
  Segment& from = segments_[static_cast<std::size_t>(segment)];
  DeviceBlock* block = nullptr;
  if (unused_records_.empty()) {
    block = &blocks_.emplace_back();
  } else {
    block = unused_records_.back();
    unused_records_.pop_back();
  }
  *block = DeviceBlock{from.address + from.cut, rounded, segment, {stream, 0, 0}, {}};
  from.cut += rounded;
  return mark_used(block);
}

DeviceBlock* BlockAllocator::cut(std::int64_t rounded, std::uint8_t stream, bool may_reserve) {
  // For a checker of memory accesses, which knows segments alone: one for each block.
  static const bool has_own_segments = std::getenv("PELLUCID_TEST_SEGMENTS") != nullptr;
  const bool is_large = has_own_segments || rounded > kSegmentBytes / 2;
  if (!is_large && open_segment_ >= 0) {
    const Segment& open = segments_[static_cast<std::size_t>(open_segment_)];
    if (open.bytes - open.cut >= rounded) return cut_from(open_segment_, rounded, stream);
  }
  if (!may_reserve) return nullptr;
  constexpr std::int64_t kPage = 4096;
  const std::int64_t bytes = has_own_segments ? rounded
                             : is_large       ? (rounded + kPage - 1) / kPage * kPage
                                              : kSegmentBytes;
  std::byte* const address = device_.reserve(bytes);
  if (address == nullptr) return nullptr;
  reserved_bytes_ += bytes;
  const auto unused = std::ranges::find_if(segments_, [](const Segment& s) { return s.address == nullptr; });
  const auto number = static_cast<int>(unused - segments_.begin());
  if (unused == segments_.end()) {
    segments_.push_back({address, bytes, 0, 0});
  } else {
    *unused = {address, bytes, 0, 0};
  }
  if (!is_large) open_segment_ = number;
  return cut_from(number, rounded, stream);
}

DeviceBlock* BlockAllocator::take(std::int64_t bytes, std::uint8_t stream, IsOrdered is_ordered,
                                  const void* context) {
  const std::int64_t rounded = round_up(bytes);
  std::vector<DeviceBlock*>& list = free_[static_cast<std::size_t>(class_of(rounded))];
  ++asked_;
  if (DeviceBlock* const block = take_free(list, stream, is_ordered, context)) return block;
  if (DeviceBlock* const block = cut(rounded, stream, false)) return block;
  // The rest of a segment is used up: before another one, take a block whose next launch waits for the stream
  // that used it before.
  if (!list.empty()) {
    DeviceBlock* const block = list.front();
    list.erase(list.begin());
    ++reused_;
    return mark_used(block);
  }
  return cut(rounded, stream, true);
}

void BlockAllocator::give(DeviceBlock* block) noexcept {
  used_bytes_ -= block->bytes;
  --segments_[static_cast<std::size_t>(block->segment)].used_blocks;
  free_[static_cast<std::size_t>(class_of(block->bytes))].push_back(block);
}

void BlockAllocator::release_free_segments() noexcept {
  const auto is_free = [&](const DeviceBlock* block) {
    return segments_[static_cast<std::size_t>(block->segment)].used_blocks == 0;
  };
  for (std::vector<DeviceBlock*>& list : free_) {
    for (DeviceBlock* block : list)
      if (is_free(block)) unused_records_.push_back(block);
    std::erase_if(list, is_free);
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    Segment& segment = segments_[i];
    if (segment.address == nullptr || segment.used_blocks != 0) continue;
    device_.release(segment.address, segment.bytes);
    reserved_bytes_ -= segment.bytes;
    segment = {};
    if (open_segment_ == static_cast<int>(i)) open_segment_ = -1;
  }
}

}  // namespace pel
