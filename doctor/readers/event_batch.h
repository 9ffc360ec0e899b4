// Events that are handed from the thread that parses to the one that visits, with the text that they look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/readers/byte_source.h"
#include "doctor/readers/trace_event.h"

namespace pel::doctor {

class EventBatch {
 public:
  static constexpr std::size_t kPadding = 64;  // bytes after the text that may be read

  std::string_view text() const { return {buffer_.get(), used_}; }
  std::size_t capacity() const { return capacity_; }
  char* free_space() { return buffer_.get() + used_; }
  std::size_t free_bytes() const { return capacity_ - used_; }
  void add_bytes(std::size_t count) {
    used_ += count;
    std::memset(buffer_.get() + used_, 0, kPadding);
  }
  // Begins anew with this text, which may be part of its own.
  void restart(std::string_view text, std::size_t capacity) {
    if (capacity > capacity_) {
      auto buffer = std::make_unique_for_overwrite<char[]>(capacity + kPadding);
      if (!text.empty()) std::memcpy(buffer.get(), text.data(), text.size());
      buffer_ = std::move(buffer);
      capacity_ = capacity;
    } else if (!text.empty()) {
      std::memmove(buffer_.get(), text.data(), text.size());
    }
    used_ = 0;
    add_bytes(text.size());
    count_ = 0;
    unescaped_.clear();
    left = {};
  }

  // To be filled; counts once it is added.
  TraceEvent& next_event() {
    if (count_ == events_.size()) events_.resize(2 * count_ + 8);
    return events_[count_];
  }
  void add_event() { ++count_; }
  std::size_t count() const { return count_; }
  const TraceEvent& operator[](std::size_t i) const { return events_[i]; }

  // Strings with escapes in them, as they read.
  std::string& new_string() { return unescaped_.emplace_back(); }

  // Events after those that are there, which are still to be parsed.
  struct Left {
    std::size_t begin = 0, end = 0;  // in the text
  } left;
  std::string_view left_text() const { return text().substr(left.begin, left.end - left.begin); }

  std::uint64_t offset = 0;  // of the text in the document
  SourceProgress progress;   // when the text was read

 private:
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, used_ = 0;
  std::vector<TraceEvent> events_;  // those after the count are kept for the next round
  std::size_t count_ = 0;
  std::deque<std::string> unescaped_;
};

}  // namespace pel::doctor
