// A file in memory, read-only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace pel::io {

struct FileBytes {
  std::string name;  // as shown in errors: the path, or "memory"
  std::string_view bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` valid; null if the caller does
};

// Maps a regular file. Pages are read when they are touched. If the file is truncated while it is mapped, the
// process ends with SIGBUS: replace files by rename, as save_safetensors does.
FileBytes map_file(const std::string& path);

}  // namespace pel::io
