#include "device/staging.h"

#include "base/check.h"

namespace pel {

StagingRing::~StagingRing() {
  for (const Piece& piece : pieces_) device_.drop(piece.event);
  if (memory_ != nullptr) device_.unpin(memory_, kBytes);
}

std::byte* StagingRing::take(std::int64_t bytes) {
  PEL_ASSERT(bytes <= kMaxPiece, "the caller cuts a copy into pieces");
  if (memory_ == nullptr) {
    memory_ = static_cast<std::byte*>(device_.pin(kBytes));
    PEL_CHECK(memory_ != nullptr, MemoryError,
              "expected {} bytes of pinned memory for copies to and from a device; the system has none left: "
              "free memory of the host",
              kBytes);
  }
  while (!pieces_.empty() && device_.has_passed(pieces_.front().event)) {
    tail_ = pieces_.front().end;
    device_.drop(pieces_.front().event);
    pieces_.pop_front();
  }
  const std::int64_t rounded = (bytes + 63) / 64 * 64, at = head_ % kBytes;
  const std::int64_t skipped = at + rounded > kBytes ? kBytes - at : 0;
  if (head_ + skipped + rounded - tail_ > kBytes) return nullptr;
  head_ += skipped + rounded;
  return memory_ + (head_ - rounded) % kBytes;
}

void StagingRing::use_until(StreamHandle stream, EventHandle event) {
  pieces_.push_back({head_, stream, event});
}

}  // namespace pel
