// Traces that come from somewhere else than a file.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
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

// What gzip unpacks.
class UnpackedSource : public doctor::ByteSource {
 public:
  explicit UnpackedSource(const std::string& path)
      : name_(path), pipe_(popen(("gzip -dc '" + path + "'").c_str(), "r")) {
    if (pipe_ == nullptr) throw std::runtime_error("gzip cannot be started");
  }
  ~UnpackedSource() override { pclose(pipe_); }
  UnpackedSource(const UnpackedSource&) = delete;
  UnpackedSource& operator=(const UnpackedSource&) = delete;
  std::size_t read(char* to, std::size_t most) override { return std::fread(to, 1, most, pipe_); }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::FILE* pipe_;
};

}  // namespace pel::test
