// The cache of compiled kernels, for a terminal and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/cache.h"

#include "base/terminal.h"

namespace pel::inspect {

struct CacheReport {
  std::optional<std::string> directory;  // nothing: the cache is off
  std::int64_t limit = 0;
  std::vector<CacheEntry> entries;

  static CacheReport of_this_user();
  std::int64_t bytes() const;
  std::int64_t problems() const;
  std::string size_text(const Terminal& terminal) const;  // one line
  std::string text(const Terminal& terminal) const;
  std::string problems_text(const Terminal& terminal) const;
  std::string json() const;
};

}  // namespace pel::inspect
