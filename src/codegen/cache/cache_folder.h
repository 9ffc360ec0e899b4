// A directory that only this user can change, and files in it that are read and written whole.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pel::codegen {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

// The content of a file, or why it is not to be trusted. Neither: there is no such file.
struct CacheFile {
  std::optional<std::string> content;
  std::string problem;
};

class CacheFolder {
 public:
  // Makes the directory if `create`. If this fails, `problem` says why; it stays empty if there is none.
  static std::optional<CacheFolder> open(const std::string& path, bool create, std::string& problem);

  // A regular file of this user that nobody else can write and that has no second name; links are not
  // followed.
  CacheFile read(const std::string& name, std::size_t max_bytes) const;
  void touch(const std::string& name) const;  // for the order of last use
  // Writes to a temporary name and renames; so a reader sees the whole file or none. Returns the problem, or
  // an empty text. `replace`: whether a file of that name is replaced.
  std::string write(const std::string& name, std::string_view content, bool replace) const;
  void remove(const std::string& name) const;

  struct File {
    std::string name;
    std::int64_t bytes = 0;
    std::int64_t used = 0;  // seconds since 1970
  };
  std::vector<File> files() const;  // of any name
  // Removes what writers that were killed have left.
  void remove_unfinished() const;

 private:
  explicit CacheFolder(Descriptor folder) : folder_(std::move(folder)) {}
  Descriptor folder_;
};

}  // namespace pel::codegen
