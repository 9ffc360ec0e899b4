// The file that write_cases.py writes; program.py there describes the lines.
#pragma once

#include <cstdint>
#include <istream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pel::parity {

inline std::vector<std::string> split_text(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

struct Case {
  std::int64_t number = 0;
  std::string family;
  std::vector<std::string> steps;
  std::vector<std::string> expectations;
  std::string line;

  // Of the last step: what the case is about.
  std::string op() const { return steps.back().substr(0, steps.back().find(' ')); }
};

inline Case parse_case(const std::string& line) {
  const std::vector<std::string> sides = split_text(line, " => ");
  if (sides.size() != 2) throw std::runtime_error("a case without exactly one \" => \": " + line);
  std::vector<std::string> left = split_text(sides[0], " | ");
  const std::vector<std::string> head = split_text(left.front(), " ");
  if (head.size() != 2 || left.size() < 2)
    throw std::runtime_error("a case without number, family or steps: " + line);
  left.erase(left.begin());
  return {std::stoll(head[0]), head[1], std::move(left), split_text(sides[1], " ; "), line};
}

struct CaseFile {
  std::string seed;
  std::string torch_version;
  std::vector<Case> cases;
};

// The first line: pellucid-parity 1 seed SEED torch VERSION cases COUNT.
inline CaseFile read_case_file(std::istream& in) {
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> head = split_text(line, " ");
  if (head.size() != 8 || head[0] != "pellucid-parity" || head[1] != "1") {
    throw std::runtime_error("not a file of parity cases of format 1: it begins \"" + line + "\"");
  }
  CaseFile file{head[3], head[5], {}};
  while (std::getline(in, line)) file.cases.push_back(parse_case(line));
  if (std::to_string(file.cases.size()) != head[7]) {
    throw std::runtime_error("the file has " + std::to_string(file.cases.size()) + " cases and promises " +
                             head[7]);
  }
  return file;
}

}  // namespace pel::parity
