#include "doctor/readers/byte_source.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"

namespace pel::doctor {

FileSource::FileSource(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  PEL_CHECK(file_ >= 0, FileError, "{} cannot be opened: {}", path_, std::strerror(errno));
  static_cast<void>(posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL));
}

FileSource::~FileSource() { close(file_); }

std::size_t FileSource::read(char* to, std::size_t most) {
  for (;;) {
    const ssize_t count = ::read(file_, to, most);
    if (count >= 0) return static_cast<std::size_t>(count);
    PEL_CHECK(errno == EINTR, FileError, "{} cannot be read: {}", path_, std::strerror(errno));
  }
}

}  // namespace pel::doctor
