// Tokens without surrounding whitespace. Control characters count as blanks: JSON allows no others there.
#pragma once

#include <string_view>

namespace pel::doctor {

inline bool is_blank_or_control(char c) { return static_cast<unsigned char>(c) <= ' '; }

inline std::string_view without_blanks_before(std::string_view token) {
  while (!token.empty() && is_blank_or_control(token.front())) token.remove_prefix(1);
  return token;
}
inline std::string_view without_blanks_after(std::string_view token) {
  while (!token.empty() && is_blank_or_control(token.back())) token.remove_suffix(1);
  return token;
}

}  // namespace pel::doctor
