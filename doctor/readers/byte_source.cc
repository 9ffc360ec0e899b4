#include "doctor/readers/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "doctor/readers/what_it_looks_like.h"

namespace pel::doctor {
namespace {

// Reading of more at once fails on Windows and macOS, whose counts are ints.
constexpr std::size_t kMaxReadBytes = std::size_t{1} << 30;

#if defined(_WIN32)  // MinGW's functions of POSIX
int open_to_read(const char* path) { return open(path, O_RDONLY | O_BINARY | O_NOINHERIT); }
int standard_input() {
  setmode(STDIN_FILENO, O_BINARY);
  return STDIN_FILENO;
}
std::uint64_t size_of(int file) {
  struct _stat64 about{};  // that of stat has 32 bits
  return _fstat64(file, &about) == 0 && S_ISREG(about.st_mode) ? static_cast<std::uint64_t>(about.st_size)
                                                               : 0;
}
#else
int open_to_read(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
#if defined(POSIX_FADV_SEQUENTIAL)  // macOS has none
  if (file >= 0) static_cast<void>(posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL));
#endif
  return file;
}
int standard_input() { return STDIN_FILENO; }
std::uint64_t size_of(int file) {
  struct stat about{};
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode) ? static_cast<std::uint64_t>(about.st_size) : 0;
}
#endif

}  // namespace

FileSource::FileSource(std::string path) : name_(std::move(path)), is_own_(name_ != "-") {
  // Opening a directory fails on Windows, and reading one elsewhere.
  PEL_CHECK(!is_own_ || !is_directory(name_), FileError, "{}", is_a_directory(name_));
  file_ = is_own_ ? open_to_read(name_.c_str()) : standard_input();
  PEL_CHECK(file_ >= 0, FileError, "{} cannot be opened: {}", name_, std::strerror(errno));
  all_bytes_ = size_of(file_);
  if (!is_own_) name_ = "standard input";
}

FileSource::~FileSource() {
  if (is_own_) close(file_);
}

std::size_t FileSource::read(char* to, std::size_t most) {
  for (;;) {
    const ssize_t count = ::read(file_, to, static_cast<unsigned>(std::min(most, kMaxReadBytes)));
    if (count >= 0) {
      done_bytes_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    PEL_CHECK(errno == EINTR, FileError, "{} cannot be read: {}", name_, std::strerror(errno));
  }
}

}  // namespace pel::doctor
