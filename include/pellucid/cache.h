// Compiled kernels kept on disk: a process that compiles what an earlier one has compiled loads it instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pellucid/api.h"

namespace pel {

// One file of the cache: the kernels of one compiled function.
struct CacheEntry {
  std::string name;  // of the file
  std::int64_t bytes = 0;
  std::int64_t used = 0;             // when it was last written or loaded, in seconds since 1970
  std::vector<std::string> kernels;  // empty if there is a problem
  std::string problem;               // why it is not loaded; empty: it is valid
};

// What this process asked the cache for.
struct CacheCounts {
  std::int64_t loaded = 0, compiled = 0, stored = 0;
};

// The environment variable PELLUCID_CACHE chooses: `off`, a directory, a size such as 64M, or a directory and
// a size with a comma between them. Only files that this user's processes have written are loaded: each has a
// message authentication code.
struct KernelCache {
  // The user's cache directory, and 256 MiB. Nothing if the cache is off.
  PEL_API static std::optional<std::string> directory();
  PEL_API static std::int64_t limit();
  // All entries, checked, the last used ones first.
  PEL_API static std::vector<CacheEntry> entries();
  // Removes all entries and the key; returns how many entries there were.
  PEL_API static std::int64_t clear();
  PEL_API static CacheCounts counts();
};

}  // namespace pel
