// Text for a terminal: colours where they are wanted, widths in columns and not in bytes.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/readable.h"  // IWYU pragma: export
#include "base/utf8.h"

namespace pel {

struct Terminal {
  bool has_color = false;
  int columns = 100;

  std::string bold(std::string_view text) const { return marked("1", text); }
  std::string dim(std::string_view text) const { return marked("2", text); }
  std::string red(std::string_view text) const { return marked("31", text); }
  std::string green(std::string_view text) const { return marked("32", text); }
  std::string yellow(std::string_view text) const { return marked("33", text); }
  std::string cyan(std::string_view text) const { return marked("36", text); }

 private:
  std::string marked(std::string_view code, std::string_view text) const {
    return has_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
};

namespace detail {
inline bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
}  // namespace detail

// Of UTF-8 without marks; a code point is one.
inline int columns_of(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return !detail::continues_utf8(c); }));
}

inline std::string cut_to(std::string_view text, int columns) {  // the last column is … where it is longer
  if (columns_of(text) <= columns) return std::string(text);
  int seen = 0;
  std::size_t end = 0;
  while (end < text.size() && (detail::continues_utf8(text[end]) || ++seen < columns)) ++end;
  return std::string(text.substr(0, end)) + "…";
}

inline std::string pad_right(std::string_view text, int columns) {  // cut with … where it is longer
  std::string padded = cut_to(text, columns);
  padded.append(static_cast<std::size_t>(std::max(0, columns - columns_of(padded))), ' ');
  return padded;
}

inline std::string pad_left(std::string_view text, int columns) {
  const std::string whole = cut_to(text, columns);
  std::string padded(static_cast<std::size_t>(std::max(0, columns - columns_of(whole))), ' ');
  padded += whole;
  return padded;
}

// Text of others, on one line: what a terminal would obey, hide or turn around becomes U+FFFD, as does broken
// UTF-8.
inline std::string printable(std::string_view text) {
  const auto is_within = [](char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; };
  static constexpr PlainAscii kPlain;
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_run(text, at, kPlain);
    clean.append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    const CodePoint c = code_point_at(text, at);
    if (c.value == '\t' || c.value == '\n' || c.value == '\r') {
      clean += ' ';
    } else if (c.value < 0x20 || is_within(c.value, 0x7f, 0x9f) || c.value == 0xad ||
               is_within(c.value, 0x200b, 0x200f) || is_within(c.value, 0x2028, 0x202e) ||
               is_within(c.value, 0x2060, 0x206f) || c.value == 0xfeff || c.value == kReplacementCharacter ||
               is_within(c.value, 0xe0000, 0xe007f)) {
      clean += kReplacementUtf8;
    } else {
      clean += text.substr(at, c.size);
    }
    at += c.size;
  }
  return clean;
}

// ███▌ of at most `columns`
inline std::string bar(double share, int columns) {
  constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::clamp(share, 0.0, 1.0) * columns * 8 + 0.5);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[static_cast<std::size_t>(eighths % 8)];
  return text;
}

}  // namespace pel
