// A source whose first bytes were looked at, which are read again.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "doctor/readers/byte_source.h"

namespace pel::doctor {

class PeekedSource : public ByteSource {
 public:
  // Reads `count` bytes of the source, or all that it has.
  PeekedSource(ByteSource& source, std::size_t count) : source_(source), first_(count, '\0') {
    std::size_t size = 0;
    while (size < count) {
      const std::size_t more = source_.read(first_.data() + size, count - size);
      if (more == 0) break;
      size += more;
    }
    first_.resize(size);
  }
  std::string_view first_bytes() const { return first_; }

  std::size_t read(char* to, std::size_t most) override {
    if (at_ == first_.size()) [[likely]]
      return source_.read(to, most);
    const std::size_t count = std::min(most, first_.size() - at_);
    std::memcpy(to, first_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return source_.name(); }
  std::string file_path() const override { return source_.file_path(); }
  std::string damage() const override { return source_.damage(); }
  SourceProgress progress() const override { return source_.progress(); }

 private:
  ByteSource& source_;
  std::string first_;
  std::size_t at_ = 0;
};

}  // namespace pel::doctor
