// What tokenizers ask of Unicode: version 15, as utf8proc 2.8 has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"  // IWYU pragma: export

namespace pel::io {

// The text with U+FFFD for each broken part. `into` holds it only if something is broken.
std::string_view replace_broken(std::string_view text, std::string& into);

void append_utf8(char32_t c, std::string& to);

enum class CharClass : std::uint8_t { Letter, Number, Space, Other };  // \p{L}, \p{N}, \s, and the rest
CharClass class_of(char32_t c);
bool is_space(char32_t c);              // White_Space
bool is_punctuation(char32_t c);        // P*
bool is_nonspacing_mark(char32_t c);    // Mn
bool is_control_or_format(char32_t c);  // Cc, Cf, Cs, Co: assigned, and no character of a text

char32_t to_lower(char32_t c);  // one for one

// Appends the canonical decomposition of one character, not yet in canonical order.
void append_decomposed(char32_t c, std::u32string& to);
int combining_class(char32_t c);  // 0: a starter, which nothing is ordered across
// Canonical order: runs of marks by combining class, and the first one first. In n log n, which utf8proc's
// own is not.
void order_marks(std::u32string& text);
// NFC of a valid text. `into` holds it only if it may differ.
std::string_view composed(std::string_view text, std::string& into);

}  // namespace pel::io
