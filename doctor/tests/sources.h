// Traces that come from somewhere else than a file.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "doctor/readers/byte_source.h"

namespace pel::test {

// A text in reads of `step` bytes.
class TextSource : public doctor::ByteSource {
 public:
  TextSource(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
  std::size_t read(char* to, std::size_t most) override {
    const std::size_t count = std::min({most, step_, text_.size() - at_});
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return name_; }

 private:
  std::string text_, name_ = "text";
  std::size_t step_, at_ = 0;
};

}  // namespace pel::test
