// Where the bytes of a trace come from.
#pragma once

#include <cstddef>
#include <string>

namespace pel::doctor {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `to` with at most so many bytes and says how many; 0 is the end. Fewer than asked for are no end.
  virtual std::size_t read(char* to, std::size_t most) = 0;
  virtual const std::string& name() const = 0;  // for errors
};

class FileSource : public ByteSource {
 public:
  explicit FileSource(std::string path);  // a FileError where it cannot be opened
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  std::size_t read(char* to, std::size_t most) override;
  const std::string& name() const override { return path_; }

 private:
  std::string path_;
  int file_;
};

}  // namespace pel::doctor
