// The text of a graph without the lines of the calls, which change with every edit.
#pragma once

#include <sstream>
#include <string>

namespace pel::test {

inline std::string without_places(const std::string& text) {
  std::string lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines += line.substr(0, line.find("  # ")) + "\n";
  return lines;
}

}  // namespace pel::test
