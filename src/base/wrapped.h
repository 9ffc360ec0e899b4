// Text in lines of a terminal's width.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"

namespace pel {

// Breaks at spaces; lines after the first are indented. A word that is longer than a line stands alone.
inline std::vector<std::string> wrapped(std::string_view text, int columns, int indent = 0) {
  std::vector<std::string> lines;
  std::string line;
  bool is_empty = true;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!is_empty && columns_of(line) + 1 + columns_of(word) > columns) {
      lines.push_back(line);
      line.assign(static_cast<std::size_t>(indent), ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  if (!is_empty) lines.push_back(line);
  return lines;
}

}  // namespace pel
