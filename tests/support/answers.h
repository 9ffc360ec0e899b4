// Files with the results of peers: tests/FOLDER/write_answers.py writes them, and ./dev test runs it if the
// peers are installed.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

namespace pel::test {

inline std::string answer_file(const std::string& name) {
  const char* folder = std::getenv("PELLUCID_ANSWERS");
  return (folder ? std::string(folder) : "") + "/" + name;
}
inline bool has_answers(const std::string& name) { return std::ifstream(answer_file(name)).good(); }
inline constexpr const char* kNoAnswers =
    "the results of the peers are missing: run ./dev setup --peers, then ./dev test";

}  // namespace pel::test
