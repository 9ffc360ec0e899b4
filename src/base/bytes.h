// Numbers and texts as bytes of a file, read with every length checked.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace pel {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

class ByteWriter {
 public:
  void number(std::uint32_t value) { append(value); }
  void wide(std::uint64_t value) { append(value); }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }
  std::string bytes() && { return std::move(bytes_); }

 private:
  template <class T>
  void append(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::string bytes_;
};

// After a read past the end every read returns nothing, and is_good() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t number() { return read<std::uint32_t>(); }
  std::uint64_t wide() { return read<std::uint64_t>(); }
  std::string_view text() { return take(number()); }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  template <class T>
  T read() {
    T value = 0;
    take(sizeof(value)).copy(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      is_good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace pel
