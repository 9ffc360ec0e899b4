#include "inspect/wrapped.h"

#include <sstream>

#include "inspect/terminal.h"

namespace pel::inspect {

std::vector<std::string> wrapped(std::string_view text, int columns, int indent) {
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

}  // namespace pel::inspect
