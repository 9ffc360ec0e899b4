// The process's one table of names. Profiles, recordings and kernels refer to names by pointer: an event is
// written in nanoseconds and may be read after the compiled function, module or Function that the name came
// from is gone. So a name is copied here once, when its owner is made, and never freed. Memory is bounded by
// the number of distinct names. Counting references instead would cost an atomic operation for each event.
#include <mutex>
#include <set>
#include <string>

#include "pellucid/profile.h"

namespace pel {

const char* interned(std::string_view text) {
  static auto* const mutex = new std::mutex;
  static auto* const names = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(*mutex);
  auto found = names->find(text);
  if (found == names->end()) found = names->emplace(text).first;
  return found->c_str();
}

}  // namespace pel
