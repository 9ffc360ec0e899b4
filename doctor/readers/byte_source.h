// Where the bytes of a trace come from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pel::doctor {

struct SourceProgress {
  std::uint64_t done_bytes = 0;
  std::uint64_t all_bytes = 0;  // 0: not known
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `to` with at most so many bytes and returns how many; 0 is the end. Fewer than requested is not the
  // end.
  virtual std::size_t read(char* to, std::size_t most) = 0;
  virtual const std::string& name() const = 0;  // for errors
  // Of a file that consists of these very bytes; empty: there is none.
  virtual std::string file_path() const { return {}; }
  // At the end: why it came early, or empty.
  virtual std::string damage() const { return {}; }
  // Of what lies on the disk, packed or not.
  virtual SourceProgress progress() const { return {}; }
};

// "-" is the standard input.
class FileSource : public ByteSource {
 public:
  explicit FileSource(std::string path);  // a FileError if it cannot be opened, or is a directory
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  std::size_t read(char* to, std::size_t most) override;
  const std::string& name() const override { return name_; }
  std::string file_path() const override { return is_own_ ? name_ : std::string(); }
  SourceProgress progress() const override { return {done_bytes_, all_bytes_}; }

 private:
  std::string name_;
  int file_;
  bool is_own_;
  std::uint64_t all_bytes_ = 0;
  std::atomic<std::uint64_t> done_bytes_ = 0;
};

// Ahead: on a thread of its own. Without threads, every source is unpacked on the caller's.
enum class Unpacking : std::uint8_t { Ahead, OnCallersThread };

// Returns what is in the file, unpacked if its first bytes are those of gzip or zstd.
std::unique_ptr<ByteSource> open_source(const std::string& path);
std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> source, Unpacking how = Unpacking::Ahead);

}  // namespace pel::doctor
