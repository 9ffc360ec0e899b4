// What ptxas says of a file of PTX.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace pel::test {

struct Assembled {
  int registers = 0, spilled_bytes = 0, stack_bytes = 0;
};

// Returns what ptxas says of each kernel of a file of PTX; throws with its output if it refuses the file.
inline std::map<std::string, Assembled> assemble(const std::string& ptx_path, const std::string& architecture,
                                                 const std::string& out_path) {
  const std::string command =
      fmt::format("ptxas -v --gpu-name {} {} -o {} 2>&1", architecture, ptx_path, out_path);
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("ptxas cannot be started");
  std::string output;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) output.append(part, size);
  if (pclose(pipe) != 0) throw std::runtime_error("ptxas refused " + ptx_path + ":\n" + output);
  static const std::regex entry("Compiling entry function '(\\w+)'"), used("Used (\\d+) registers"),
      frame("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill loads");
  std::map<std::string, Assembled> all;
  Assembled* current = nullptr;
  for (std::size_t at = 0; at < output.size();) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    std::smatch match;
    if (std::regex_search(line, match, entry)) current = &all[match[1]];
    if (current == nullptr) continue;
    if (std::regex_search(line, match, frame)) {
      current->stack_bytes = std::stoi(match[1]);
      current->spilled_bytes = std::stoi(match[2]) + std::stoi(match[3]);
    }
    if (std::regex_search(line, match, used)) current->registers = std::stoi(match[1]);
  }
  return all;
}

}  // namespace pel::test
