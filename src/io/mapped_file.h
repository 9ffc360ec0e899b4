// A file in memory, read-only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace pel::io {

struct FileBytes {
  std::string name;  // as errors say it: the path, or "memory"
  std::string_view bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` valid; null where the caller does
};

// Maps a regular file. Pages are read when they are touched. Whoever makes the file shorter while it is
// mapped ends the process with SIGBUS: replace files by rename, as save_safetensors does.
FileBytes map_file(const std::string& path);

}  // namespace pel::io
