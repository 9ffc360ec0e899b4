// Characters of UTF-8 that may be broken: text from files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pel {

inline constexpr char32_t kReplacementCharacter = 0xfffd;
inline constexpr std::string_view kReplacementUtf8 = "\xef\xbf\xbd";

struct CodePoint {
  char32_t value;    // U+FFFD for a broken part
  std::size_t size;  // in bytes
};

namespace detail {
// How a character begins: its length, and the bounds of the second byte, which exclude what is too long
// (0xc080), surrogates and numbers above U+10FFFF.
struct Utf8Lead {
  std::uint8_t size, low, high;
};
inline Utf8Lead utf8_lead(std::uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3, 0x80, 0xbf};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4, 0x80, 0xbf};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}
}  // namespace detail

// The end of the characters from `at` on for which `is_plain` holds. Text is copied in such runs, because
// most of it needs no change.
template <class IsPlain>
std::size_t end_of_run(std::string_view text, std::size_t at, IsPlain is_plain) {
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}
// Printable characters of ASCII, without some.
class PlainAscii {
 public:
  consteval explicit PlainAscii(std::string_view but = {}) {
    for (unsigned char c = 0x20; c < 0x7f; ++c)
      has_[c] = but.find(static_cast<char>(c)) == std::string_view::npos;
  }
  bool operator()(char c) const { return has_[static_cast<unsigned char>(c)]; }

 private:
  std::array<bool, 256> has_{};
};

// The character at `at`, which is inside the text. A broken part ends where no character can continue it, as
// WHATWG and Rust have it: "\xf0\x9f\x98x" is one broken part and an x.
inline CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const detail::Utf8Lead lead = detail::utf8_lead(first);
  if (lead.size == 0) return {kReplacementCharacter, 1};
  char32_t value = first & (0x7f >> lead.size);
  for (std::size_t i = 1; i < lead.size; ++i) {
    const std::uint8_t low = i == 1 ? lead.low : 0x80, high = i == 1 ? lead.high : 0xbf;
    if (at + i >= text.size() || byte(i) < low || byte(i) > high) return {kReplacementCharacter, i};
    value = value << 6 | (byte(i) & 0x3f);
  }
  return {value, lead.size};
}

}  // namespace pel
