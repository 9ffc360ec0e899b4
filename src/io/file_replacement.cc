#include "io/file_replacement.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"

namespace pel::io {

FileReplacement::FileReplacement(const std::string& path) : path_(path) {
  PEL_CHECK(path.find('\0') == std::string::npos, FileError, "a path must not contain a zero byte");
  static std::atomic<unsigned> count = 0;
  temporary_ = fmt::format("{}.{}.{}.tmp", path, ::getpid(), count++);
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  PEL_CHECK(file_ >= 0, FileError, "cannot create {}: {}", temporary_, std::strerror(errno));
}

FileReplacement::~FileReplacement() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileReplacement::write(const void* data, std::uint64_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file_, at, size);
    if (written < 0 && errno == EINTR) continue;
    PEL_CHECK(written >= 0, FileError, "cannot write {}: {}", temporary_, std::strerror(errno));
    at += written;
    size -= static_cast<std::uint64_t>(written);
  }
}

void FileReplacement::take_its_place() {
  PEL_CHECK(::fsync(file_) == 0 && ::close(std::exchange(file_, -1)) == 0, FileError, "cannot write {}: {}",
            temporary_, std::strerror(errno));
  PEL_CHECK(std::rename(temporary_.c_str(), path_.c_str()) == 0, FileError, "cannot rename {} to {}: {}",
            temporary_, path_, std::strerror(errno));
  temporary_.clear();
}

}  // namespace pel::io
