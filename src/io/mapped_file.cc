#include "io/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace pel::io {
namespace {

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

struct Mapping {
  void* data;
  std::size_t size;
  ~Mapping() { ::munmap(data, size); }
};

}  // namespace

FileBytes map_file(const std::string& path) {
  PEL_CHECK(path.find('\0') == std::string::npos, FileError, "a path must not contain a zero byte");
  // O_NONBLOCK: opening a pipe would otherwise wait for its writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  PEL_CHECK(file.number >= 0, FileError, "cannot open {}: {}", path, std::strerror(errno));
  struct stat status{};
  PEL_CHECK(::fstat(file.number, &status) == 0, FileError, "cannot read the status of {}: {}", path,
            std::strerror(errno));
  PEL_CHECK(S_ISREG(status.st_mode), FileError, "{} is not a regular file", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {path, {}, nullptr};  // mmap refuses an empty mapping
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  PEL_CHECK(data != MAP_FAILED, FileError, "cannot map {} of {} bytes: {}", path, size, std::strerror(errno));
  const std::shared_ptr<const void> owner(new Mapping{data, size});
  return {path, {static_cast<const char*>(data), size}, owner};
}

}  // namespace pel::io
