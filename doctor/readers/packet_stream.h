// The packets of a trace of Perfetto, cut out of its bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "doctor/readers/byte_source.h"
#include "doctor/readers/protobuf.h"

namespace pel::doctor {

// One after the other, in a buffer that grows with the longest.
class PacketStream {
 public:
  PacketStream(ByteSource& source, std::size_t longest) : source_(source), longest_(longest) {}

  // False: the end, or problem() says what is wrong.
  bool next(std::string_view& packet) {
    for (;;) {
      std::uint64_t tag = 0, size = 0;
      if (!number(tag)) return false;
      switch (static_cast<WireType>(tag & 7)) {
        case WireType::Varint:
          if (!number(size)) return cut();
          continue;
        case WireType::Fixed64:
          if (!skip(8)) return cut();
          continue;
        case WireType::Fixed32:
          if (!skip(4)) return cut();
          continue;
        case WireType::Bytes:
          break;
        default:
          return fail("the bytes that follow are not packets of Perfetto");
      }
      if (!number(size)) return cut();
      if (size > longest_) return fail("a packet is longer than it may be");
      if (!fill(static_cast<std::size_t>(size))) return cut();
      const std::string_view bytes(buffer_.data() + at_, static_cast<std::size_t>(size));
      at_ += bytes.size();
      if (tag >> 3 != 1) continue;
      packet = bytes;
      return true;
    }
  }
  const char* problem() const { return problem_; }
  std::uint64_t offset() const { return dropped_ + at_; }
  std::uint64_t bytes() const { return dropped_ + end_; }

 private:
  bool number(std::uint64_t& to) {
    fill(10);  // or what is left
    std::string_view rest(buffer_.data() + at_, end_ - at_);
    if (rest.empty()) return false;
    const std::size_t before = rest.size();
    if (!ProtoReader::take_varint(rest, to)) return cut();
    at_ += before - rest.size();
    return true;
  }
  bool skip(std::size_t count) {
    if (!fill(count)) return false;
    at_ += count;
    return true;
  }
  // Makes `count` bytes available; false: there are fewer.
  bool fill(std::size_t count) {
    while (end_ - at_ < count) {
      if (at_ != 0) {
        std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
        dropped_ += at_;
        end_ -= at_;
        at_ = 0;
      }
      if (buffer_.size() < count + kBlock) buffer_.resize(count + kBlock);
      const std::size_t read = source_.read(buffer_.data() + end_, buffer_.size() - end_);
      if (read == 0) return false;
      end_ += read;
    }
    return true;
  }
  bool cut() { return fail("the trace ends inside a packet"); }
  bool fail(const char* why) {
    if (problem_ == nullptr) problem_ = why;
    return false;
  }

  static constexpr std::size_t kBlock = std::size_t{256} << 10;
  ByteSource& source_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::uint64_t dropped_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace pel::doctor
