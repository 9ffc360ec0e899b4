// The wire format of protocol buffers: fields of a message, one after the other. Nothing is copied.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pel::doctor {

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct ProtoField {
  std::uint32_t number = 0;
  WireType type = WireType::Varint;
  std::uint64_t value = 0;   // of numbers
  std::string_view bytes{};  // of strings and messages

  bool is_number() const { return type != WireType::Bytes; }
};

// for (ProtoReader fields(bytes); fields.next();) use(fields.field());
// A message that is broken ends early, and is_broken() says so.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}

  bool next() {
    if (rest_.empty() || is_broken_) return false;
    std::uint64_t tag = 0;
    if (!take_varint(tag) || tag >> 3 == 0 || tag >> 3 > kMaxFieldNumber) return fail();
    field_.number = static_cast<std::uint32_t>(tag >> 3);
    field_.type = static_cast<WireType>(tag & 7);
    field_.bytes = {};
    switch (field_.type) {
      case WireType::Varint:
        return take_varint(field_.value) || fail();
      case WireType::Fixed64:
        return take_fixed(8) || fail();
      case WireType::Fixed32:
        return take_fixed(4) || fail();
      case WireType::Bytes: {
        std::uint64_t size = 0;
        if (!take_varint(size) || size > rest_.size()) return fail();
        field_.bytes = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(static_cast<std::size_t>(size));
        return true;
      }
    }
    return fail();  // groups, which no one writes any more
  }
  const ProtoField& field() const { return field_; }
  bool is_broken() const { return is_broken_; }
  std::size_t left() const { return rest_.size(); }

  // Takes a number from the front of the text; false: it has no end there.
  static bool take_varint(std::string_view& from, std::uint64_t& to) {
    to = 0;
    for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
      const auto byte = static_cast<unsigned char>(from[i]);
      to |= std::uint64_t{byte & 0x7Fu} << 7 * i;
      if (byte < 0x80) {
        from.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kMaxFieldNumber = (std::uint64_t{1} << 29) - 1;

  bool take_varint(std::uint64_t& to) { return take_varint(rest_, to); }
  bool take_fixed(std::size_t size) {
    static_assert(std::endian::native == std::endian::little);
    if (rest_.size() < size) return false;
    field_.value = 0;
    std::memcpy(&field_.value, rest_.data(), size);
    rest_.remove_prefix(size);
    return true;
  }
  bool fail() {
    is_broken_ = true;
    return false;
  }

  std::string_view rest_;
  ProtoField field_;
  bool is_broken_ = false;
};

}  // namespace pel::doctor
