#include "doctor/tool/watch.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "pellucid/error.h"

#include "base/terminal.h"

namespace pel::tool {

#if defined(__wasi__)  // a browser has no folders

WatchedFolder::WatchedFolder(std::string path) : path_(std::move(path)) {
  throw FileError(fmt::format("{} cannot be watched: this program has no folders", printable(path_)));
}
std::vector<std::string> WatchedFolder::new_traces() { return {}; }
void watch(WatchedFolder&, const std::function<void(const std::string& trace)>&) { std::abort(); }

#else

namespace {

constexpr std::chrono::milliseconds kPause{500};

bool is_trace(const std::string& name) {
  for (const char* end : {".json", ".json.gz", ".json.zst"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

WatchedFolder::WatchedFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  if (!std::filesystem::is_directory(path_, error))
    throw FileError(fmt::format("{} is not a folder: --watch needs the folder that the profiler writes to",
                                printable(path_)));
  for (const auto& [name, size] : traces()) seen_.insert(name);
}

std::map<std::string, std::uintmax_t> WatchedFolder::traces() const {
  std::map<std::string, std::uintmax_t> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(path_, error);
  if (error) throw FileError(fmt::format("{} cannot be read: {}", printable(path_), error.message()));
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (error) throw FileError(fmt::format("{} cannot be read: {}", printable(path_), error.message()));
    std::error_code gone;  // a file may be renamed or deleted meanwhile
    if (!entries->is_regular_file(gone) || gone || !is_trace(entries->path().filename().string())) continue;
    const std::uintmax_t size = entries->file_size(gone);
    if (!gone) found.emplace(entries->path().string(), size);
  }
  return found;
}

std::vector<std::string> WatchedFolder::new_traces() {
  std::vector<std::string> complete;
  std::map<std::string, std::uintmax_t> still;
  for (const auto& [name, size] : traces()) {
    if (seen_.contains(name)) continue;
    const auto before = growing_.find(name);
    if (before != growing_.end() && before->second == size && size != 0) {
      complete.push_back(name);
      seen_.insert(name);
    } else {
      still.emplace(name, size);
    }
  }
  growing_ = std::move(still);
  return complete;
}

void watch(WatchedFolder& folder, const std::function<void(const std::string& trace)>& take) {
  for (;;) {
    for (const std::string& trace : folder.new_traces()) take(trace);
    std::this_thread::sleep_for(kPause);
  }
}

#endif

}  // namespace pel::tool
