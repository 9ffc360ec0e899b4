// Traces that are written to a folder while a program runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace pel::tool {

class WatchedFolder {
 public:
  // A FileError: it is not a folder, or cannot be read. Traces that are there already are not new.
  explicit WatchedFolder(std::string path);

  // Traces that have come since, complete as far as can be seen: their size is that of the last call.
  std::vector<std::string> new_traces();

 private:
  std::map<std::string, std::uintmax_t> traces() const;

  std::string path_;
  std::set<std::string> seen_;
  std::map<std::string, std::uintmax_t> growing_;
};

// Hands over each new trace, until the program is ended.
[[noreturn]] void watch(WatchedFolder& folder, const std::function<void(const std::string& trace)>& take);

}  // namespace pel::tool
