// A ring of pinned memory, through which data is copied between the host and a device: the caller's memory
// may be reused when a copy was queued, and a device may need memory that does not move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "device/async_device.h"

namespace pel {

class StagingRing {
 public:
  static constexpr std::int64_t kBytes = std::int64_t{8} << 20, kMaxPiece = std::int64_t{1} << 20;

  explicit StagingRing(AsyncDevice& device) : device_(device) {}
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // Space for up to kMaxPiece bytes, or null if earlier copies still use it: wait_for_oldest, then try again.
  // Throws a MemoryError if the device gives no pinned memory.
  std::byte* take(std::int64_t bytes);
  // The copy that uses the space taken last has been queued before this event.
  void use_until(StreamHandle stream, EventHandle event);
  struct Oldest {
    StreamHandle stream;
    EventHandle event;
  };
  Oldest oldest() const { return {pieces_.front().stream, pieces_.front().event}; }

 private:
  struct Piece {
    std::int64_t end;  // in bytes since the start, with what was left out at ends of the ring
    StreamHandle stream;
    EventHandle event;
  };
  AsyncDevice& device_;
  std::byte* memory_ = nullptr;
  std::int64_t head_ = 0, tail_ = 0;  // bytes since the start
  std::deque<Piece> pieces_;
};

}  // namespace pel
