// Text in lines of a terminal's width.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/terminal.h"

namespace pel {

// Breaks at spaces; lines after the first are indented. A word that is longer than a line stands alone.
inline std::vector<std::string> wrapped(std::string_view text, int columns, int indent = 0) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::vector<std::string> lines;
  std::string line;
  int taken = 0;  // columns of the line
  bool is_empty = true;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const int width = columns_of(word);
    if (!is_empty && taken + 1 + width > columns) {
      lines.push_back(std::move(line));
      line.assign(static_cast<std::size_t>(indent), ' ');
      taken = indent;
      is_empty = true;
    }
    if (!is_empty) {
      line += ' ';
      ++taken;
    }
    line += word;
    taken += width;
    is_empty = false;
    at = text.find_first_not_of(kBlanks, end);
  }
  if (!is_empty) lines.push_back(std::move(line));
  return lines;
}

}  // namespace pel
