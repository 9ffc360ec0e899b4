// A file that is written whole or not at all.
#pragma once

#include <cstdint>
#include <string>

namespace pel::io {

// A temporary file in the folder of the target, which it replaces at the end. Removed if that does not
// happen.
class FileReplacement {
 public:
  explicit FileReplacement(const std::string& path);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  void write(const void* data, std::uint64_t size);
  void take_its_place();

 private:
  std::string path_, temporary_;
  int file_ = -1;
};

}  // namespace pel::io
