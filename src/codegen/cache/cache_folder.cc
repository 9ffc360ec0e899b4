#include "codegen/cache/cache_folder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pel::codegen {
namespace {

constexpr std::string_view kUnfinished = ".unfinished-";

std::string failure(std::string_view what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

bool others_may_write(const struct stat& status) { return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

std::string unfinished_name() {
  static std::atomic<unsigned> next{0};
  return fmt::format("{}{}-{}", kUnfinished, ::getpid(), next.fetch_add(1));
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::optional<CacheFolder> CacheFolder::open(const std::string& path, bool create, std::string& problem) {
  problem.clear();
  if (create) {
    std::error_code ignored;  // open() reports it
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      problem = failure("cannot make " + path);
      return std::nullopt;
    }
  }
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno != ENOENT) problem = failure("cannot open " + path);
    return std::nullopt;
  }
  struct stat status{};
  if (::fstat(folder.number(), &status) != 0) {
    problem = failure("cannot read the status of " + path);
  } else if (status.st_uid != ::geteuid()) {
    problem = path + " belongs to another user";
  } else if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    problem = fmt::format("other users may enter {}; run: chmod 700 {}", path, path);
  }
  if (!problem.empty()) return std::nullopt;
  return CacheFolder(std::move(folder));
}

CacheFile CacheFolder::read(const std::string& name, std::size_t max_bytes) const {
  // O_NONBLOCK: opening a pipe would otherwise wait for its writer.
  const Descriptor file(
      ::openat(folder_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    if (errno == ENOENT) return {};
    return {{}, errno == ELOOP ? "it is a link" : failure("it cannot be opened")};
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return {{}, failure("its status cannot be read")};
  if (!S_ISREG(status.st_mode)) return {{}, "it is not a regular file"};
  if (status.st_uid != ::geteuid()) return {{}, "it belongs to another user"};
  if (status.st_nlink > 1) return {{}, "it has a second name"};
  if (others_may_write(status)) return {{}, "other users may write it"};
  if (static_cast<std::uint64_t>(status.st_size) > max_bytes) return {{}, "it is too large"};

  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::read(file.number(), content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {{}, failure("it cannot be read")};
    if (count == 0) break;  // it was cut meanwhile
    done += static_cast<std::size_t>(count);
  }
  content.resize(done);
  return {std::move(content), {}};
}

void CacheFolder::touch(const std::string& name) const {
  ::utimensat(folder_.number(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::string CacheFolder::write(const std::string& name, std::string_view content, bool replace) const {
  const std::string temporary = unfinished_name();
  this->remove(temporary);  // of a process that had the same number
  {
    const Descriptor file(::openat(folder_.number(), temporary.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file) return failure("cannot create a file");
    if (!write_all(file.number(), content)) {
      std::string problem = failure("cannot write");
      this->remove(temporary);
      return problem;
    }
  }
  const auto rename = [&](unsigned flags) {
    return ::renameat2(folder_.number(), temporary.c_str(), folder_.number(), name.c_str(), flags) == 0;
  };
  bool is_renamed = rename(replace ? 0 : RENAME_NOREPLACE);
  if (!is_renamed && !replace && errno == EINVAL) is_renamed = rename(0);  // a file system without that flag
  if (is_renamed) return {};
  std::string problem = failure("cannot rename");
  this->remove(temporary);
  return problem;
}

void CacheFolder::remove(const std::string& name) const { ::unlinkat(folder_.number(), name.c_str(), 0); }

std::vector<CacheFolder::File> CacheFolder::files() const {
  std::vector<File> files;
  // A descriptor of its own, because reading moves its position.
  const int again = ::openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return files;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(again), ::closedir);
  if (!list) return files;
  while (const dirent* each = ::readdir(list.get())) {
    struct stat status{};
    const std::string name = each->d_name;
    if (name == "." || name == "..") continue;
    if (::fstatat(folder_.number(), each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    files.push_back({name, status.st_size, status.st_mtim.tv_sec});
  }
  return files;
}

void CacheFolder::remove_unfinished() const {
  constexpr std::int64_t kSeconds = 600;  // writing takes milliseconds
  const std::int64_t now = std::time(nullptr);
  for (const File& file : files()) {
    if (file.name.starts_with(kUnfinished) && std::abs(now - file.used) > kSeconds) this->remove(file.name);
  }
}

}  // namespace pel::codegen
