// Memory of an asynchronous device: blocks cut from segments, cached by size and stream.
//
// A block that is freed may be taken again at once, while kernels that use it are still queued: what its next
// owner queues on the same stream comes later. On other streams the block's record of uses orders the first
// launch after the earlier ones (ordered_device.h), as it orders all launches. So freeing never waits, and
// there is no list of blocks that wait for events.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "device/async_device.h"

namespace pel {

// The last commands of one stream that used a block, by their number in the stream; 0: none.
struct StreamUse {
  std::uint8_t stream = 0;
  std::uint64_t read = 0, written = 0;
  std::uint64_t last() const { return read > written ? read : written; }
};

struct DeviceBlock {
  std::byte* address = nullptr;
  std::int64_t bytes = 0;  // rounded up
  int segment = 0;
  StreamUse first;                // most blocks are used by one stream only
  std::vector<StreamUse> others;  // one for each further stream

  template <class F>
  void each_use(F&& f) const {
    f(first);
    for (const StreamUse& use : others) f(use);
  }
  StreamUse& use_by(std::uint8_t stream) {
    if (first.stream == stream) return first;
    for (StreamUse& use : others)
      if (use.stream == stream) return use;
    return others.emplace_back(StreamUse{stream, 0, 0});
  }
};

class BlockAllocator {
 public:
  explicit BlockAllocator(AsyncDevice& device) : device_(device) {}

  // Whether `stream` is past these uses of a block, or has been told to wait for them.
  using IsOrdered = bool (*)(const void* context, const DeviceBlock& block, std::uint8_t stream);

  // A block of at least this size for commands of `stream`; null if the device has no memory left, also after
  // release_free_segments(). Prefers blocks that need no order with another stream.
  DeviceBlock* take(std::int64_t bytes, std::uint8_t stream, IsOrdered is_ordered, const void* context);
  void give(DeviceBlock* block) noexcept;

  // Returns segments without a used block to the device. No command that uses them may be queued.
  void release_free_segments() noexcept;

  std::int64_t reserved_bytes() const { return reserved_bytes_; }
  std::int64_t used_bytes() const { return used_bytes_; }  // rounded up
  std::int64_t asked() const { return asked_; }
  std::int64_t reused() const { return reused_; }

  // Eight sizes for each power of two, and multiples of 64 up to 512.
  static std::int64_t round_up(std::int64_t bytes);

 private:
  static constexpr std::int64_t kSegmentBytes = std::int64_t{32} << 20;
  static constexpr std::int64_t kMinBytes = 64;
  static constexpr int kClasses = 8 * 40;

  struct Segment {
    std::byte* address = nullptr;  // null: it was given back
    std::int64_t bytes = 0, cut = 0;
    std::int64_t used_blocks = 0;
  };
  static int class_of(std::int64_t rounded);
  DeviceBlock* take_free(std::vector<DeviceBlock*>& list, std::uint8_t stream, IsOrdered is_ordered,
                         const void* context);
  DeviceBlock* cut(std::int64_t rounded, std::uint8_t stream, bool may_reserve);
  DeviceBlock* cut_from(int segment, std::int64_t rounded, std::uint8_t stream);
  DeviceBlock* mark_used(DeviceBlock* block);

  AsyncDevice& device_;
  std::array<std::vector<DeviceBlock*>, kClasses> free_;  // of all streams; the last one was freed last
  std::vector<Segment> segments_;
  int open_segment_ = -1;  // that small blocks are cut from
  std::deque<DeviceBlock> blocks_;
  std::vector<DeviceBlock*> unused_records_;  // of blocks whose segment was given back
  std::int64_t reserved_bytes_ = 0, used_bytes_ = 0, asked_ = 0, reused_ = 0;
};

}  // namespace pel
