// Pages of docs/ that tests generate from measurements or from the registry.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace pel::test {

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// With PELLUCID_WRITE_DOCS=1 writes docs/NAME; else checks that it equals `page`. `filter` selects the test.
inline void expect_page(const std::string& name, const std::string& page, const std::string& filter) {
  const std::string path = PELLUCID_SOURCE_DIR "/docs/" + name;
  if (std::getenv("PELLUCID_WRITE_DOCS")) {
    std::ofstream(path) << page;
    return;
  }
  const std::string file = read_file(path);
  if (file == page) return;
  std::istringstream had(file), has(page);
  std::string line, wanted;
  do {
    line.clear();
    std::getline(had, line);
  } while (std::getline(has, wanted) && line == wanted);
  ADD_FAILURE() << "docs/" << name << " contains\n  " << line << "\nbut should contain\n  " << wanted
                << "\n  rewrite it: PELLUCID_WRITE_DOCS=1 ./dev test " << filter;
}

}  // namespace pel::test
