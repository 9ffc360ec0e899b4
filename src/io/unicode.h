// The Unicode properties that tokenizers need: version 15, from utf8proc 2.8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"  // IWYU pragma: export

namespace pel::io {

// Returns the text with U+FFFD for each invalid part. Uses `into` only if something is invalid.
std::string_view replace_invalid(std::string_view text, std::string& into);

void append_utf8(char32_t c, std::string& to);

enum class CharClass : std::uint8_t { Letter, Number, Space, Other };  // \p{L}, \p{N}, \s, and the rest
CharClass class_of(char32_t c);
bool is_space(char32_t c);              // White_Space
bool is_punctuation(char32_t c);        // P*
bool is_nonspacing_mark(char32_t c);    // Mn
bool is_control_or_format(char32_t c);  // Cc, Cf, Cs, Co

char32_t to_lower(char32_t c);  // simple case mapping: one code point to one

// Appends the canonical decomposition of one character, not yet in canonical order.
void append_decomposed(char32_t c, std::u32string& to);
int combining_class(char32_t c);  // 0: a starter; marks are not reordered across it
// Puts runs of marks into canonical order: a stable sort by combining class, in n log n, unlike utf8proc's
// own.
void order_marks(std::u32string& text);
// Returns the NFC of a valid text. Uses `into` only if it may differ.
std::string_view composed(std::string_view text, std::string& into);

}  // namespace pel::io
