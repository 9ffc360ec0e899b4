#include "io/unicode.h"

#include <algorithm>
#include <array>
#include <vector>

#include <simdjson.h>
#include <utf8proc.h>

namespace pel::io {
namespace {

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool is_within(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

CharClass class_by_category(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::Letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::Number;
    default:
      return is_space(c) ? CharClass::Space : CharClass::Other;
  }
}

const std::array<CharClass, 128>& ascii_classes() {
  static const auto classes = [] {
    std::array<CharClass, 128> table{};
    for (char32_t c = 0; c < 128; ++c) table[c] = class_by_category(c);
    return table;
  }();
  return classes;
}

}  // namespace

std::string_view replace_invalid(std::string_view text, std::string& into) {
  if (simdjson::validate_utf8(text.data(), text.size())) return text;
  into.clear();
  into.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append_utf8(c.value, into);
    at += c.size;
  }
  return into;
}

void append_utf8(char32_t c, std::string& to) {
  if (c < 0x80) {
    to.push_back(static_cast<char>(c));
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
  to.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

CharClass class_of(char32_t c) { return c < 128 ? ascii_classes()[c] : class_by_category(c); }

bool is_space(char32_t c) {
  return is_within(c, 0x9, 0xd) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         is_within(c, 0x2000, 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool is_punctuation(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_nonspacing_mark(char32_t c) { return category_of(c) == UTF8PROC_CATEGORY_MN; }

bool is_control_or_format(char32_t c) {
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_CC && category <= UTF8PROC_CATEGORY_CO;
}

char32_t to_lower(char32_t c) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

void append_decomposed(char32_t c, std::u32string& to) {
  std::array<utf8proc_int32_t, 16> parts;  // the longest canonical decomposition has four
  const utf8proc_ssize_t size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                                                        parts.size(), UTF8PROC_DECOMPOSE, nullptr);
  for (utf8proc_ssize_t i = 0; i < size; ++i) to.push_back(static_cast<char32_t>(parts[i]));
}

int combining_class(char32_t c) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
}

void order_marks(std::u32string& text) {
  const auto is_mark = [](char32_t c) { return combining_class(c) != 0; };
  std::vector<std::uint64_t> keys;  // class, position and mark in one number, because std::sort is not stable
  for (auto at = text.begin(); at != text.end();) {
    at = std::find_if(at, text.end(), is_mark);
    const auto end = std::find_if_not(at, text.end(), is_mark);
    if (end - at > 1) {
      keys.clear();
      for (auto mark = at; mark != end; ++mark) {
        const auto rank = static_cast<std::uint64_t>(combining_class(*mark));
        keys.push_back(rank << 56 | static_cast<std::uint64_t>(mark - at) << 21 | *mark);
      }
      std::sort(keys.begin(), keys.end());
      std::transform(keys.begin(), keys.end(), at,
                     [](std::uint64_t key) { return static_cast<char32_t>(key & 0x1fffff); });
    }
    at = end;
  }
}

std::string_view composed(std::string_view text, std::string& into) {
  // The first byte of U+0300: characters below it are composed, and never combine with others.
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0xcc; }))
    return text;
  std::u32string points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append_decomposed(c.value, points);
    at += c.size;
  }
  order_marks(points);
  std::vector<utf8proc_int32_t> joined(points.begin(), points.end());
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(joined.data(), static_cast<utf8proc_ssize_t>(joined.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  into.clear();
  for (utf8proc_ssize_t i = 0; i < size; ++i) append_utf8(static_cast<char32_t>(joined[i]), into);
  return into;
}

}  // namespace pel::io
