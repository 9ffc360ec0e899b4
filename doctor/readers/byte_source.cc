#include "doctor/readers/byte_source.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace pel::doctor {

FileSource::FileSource(std::string path) : name_(std::move(path)), is_own_(name_ != "-") {
  file_ = is_own_ ? open(name_.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  PEL_CHECK(file_ >= 0, FileError, "{} cannot be opened: {}", name_, std::strerror(errno));
  struct stat about{};
  if (fstat(file_, &about) == 0 && S_ISREG(about.st_mode))
    all_bytes_ = static_cast<std::uint64_t>(about.st_size);
  if (is_own_) static_cast<void>(posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL));
  if (!is_own_) name_ = "standard input";
}

FileSource::~FileSource() {
  if (is_own_) close(file_);
}

std::size_t FileSource::read(char* to, std::size_t most) {
  for (;;) {
    const ssize_t count = ::read(file_, to, most);
    if (count >= 0) {
      done_bytes_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    PEL_CHECK(errno == EINTR, FileError, "{} cannot be read: {}", name_, std::strerror(errno));
  }
}

}  // namespace pel::doctor
