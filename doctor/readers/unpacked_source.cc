// Bytes of a packed file, unpacked ahead of the reader if there are threads: four blocks on their way bound
// the memory.
#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/has_threads.h"
#include "doctor/readers/byte_source.h"
#include "doctor/readers/hand_over.h"
#include "doctor/readers/peeked_source.h"
#include "doctor/readers/unpack.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{64} << 10;
constexpr std::size_t kUnpackedBytes = std::size_t{256} << 10;
constexpr int kBlocks = 4;

// Traces are packed 10 to 40 times. Files that are made to fill memory or disks reach 1030 with gzip, and
// more with zstd; below 64 MB they do no harm.
constexpr std::uint64_t kMaxRatio = 1000;
constexpr std::uint64_t kHarmlessBytes = std::uint64_t{64} << 20;

// Owns the source that it peeks into.
struct OwnedSource {
  explicit OwnedSource(std::unique_ptr<ByteSource> source) : owned(std::move(source)) {}
  std::unique_ptr<ByteSource> owned;
};
class FirstBytesSource : private OwnedSource, public PeekedSource {
 public:
  explicit FirstBytesSource(std::unique_ptr<ByteSource> source)
      : OwnedSource(std::move(source)), PeekedSource(*owned, kMagicBytes) {}
};

// Unpacks when it is asked, always a whole block: how far broken data can be unpacked depends on the size of
// the output, and must not depend on the reader.
class UnpackedSource : public ByteSource {
 public:
  UnpackedSource(std::unique_ptr<ByteSource> packed, std::unique_ptr<Unpacker> unpacker)
      : packed_(std::move(packed)), unpacker_(std::move(unpacker)) {}

  std::size_t read(char* to, std::size_t most) override {
    if (at_ == block_.size()) {
      if (most >= kUnpackedBytes) return unpack({to, kUnpackedBytes});
      block_.resize(kUnpackedBytes);
      block_.resize(unpack(block_));
      at_ = 0;
    }
    const std::size_t count = std::min(most, block_.size() - at_);
    if (count != 0) std::memcpy(to, block_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return packed_->name(); }
  std::string damage() const override { return damage_; }
  SourceProgress progress() const override { return packed_->progress(); }

 private:
  // Returns how much of the block was filled. Less than all of it: the end, early or not.
  std::size_t unpack(std::span<char> block) {
    std::span<char> output = block;
    while (!output.empty() && damage_.empty()) {
      if (input_.empty() && !is_at_end_) {
        const std::size_t count = packed_->read(buffer_.data(), buffer_.size());
        packed_bytes_ += count;
        is_at_end_ = count == 0;
        input_ = {buffer_.data(), count};
      }
      const std::size_t available = output.size(), there = input_.size();
      const char* problem = unpacker_->step(input_, output);
      unpacked_bytes_ += available - output.size();
      if (problem != nullptr) {
        damage_ = fmt::format("at byte {} of the file {}", packed_bytes_ - input_.size(), problem);
      } else if (is_at_end_ && available == output.size()) {  // and none is still to come
        if (!unpacker_->may_end())
          damage_ = fmt::format("the file ends at byte {}, before its {} data does", packed_bytes_,
                                unpacker_->name());
        break;
      } else if (!is_at_end_ && available == output.size() && there == input_.size()) {
        damage_ = fmt::format("at byte {} of the file no more can be unpacked", packed_bytes_ - there);
      }
    }
    refuse_bomb();
    return block.size() - output.size();
  }
  void refuse_bomb() const {
    PEL_CHECK(unpacked_bytes_ < kHarmlessBytes || unpacked_bytes_ / kMaxRatio <= packed_bytes_, FileError,
              "{} decompresses to more than {} times its size, which no trace does: if it is a trace, "
              "decompress it first",
              packed_->name(), kMaxRatio);
  }

  std::unique_ptr<ByteSource> packed_;
  std::unique_ptr<Unpacker> unpacker_;
  std::vector<char> buffer_ = std::vector<char>(kPackedBytes);
  std::span<const char> input_;  // of the buffer, still packed
  std::vector<char> block_;      // that read() is in
  std::size_t at_ = 0;
  bool is_at_end_ = false;  // of the file
  std::string damage_;
  std::uint64_t packed_bytes_ = 0, unpacked_bytes_ = 0;
};

// Reads another source ahead, on a thread of its own.
class AheadSource : public ByteSource {
 public:
  explicit AheadSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {
    for (int i = 0; i < kBlocks; ++i) empty_.put({});
    thread_ = std::thread([this] { run(); });
  }
  ~AheadSource() override {
    empty_.close();
    full_.close();
    thread_.join();
  }
  AheadSource(const AheadSource&) = delete;
  AheadSource& operator=(const AheadSource&) = delete;

  std::size_t read(char* to, std::size_t most) override {
    if (at_ == block_.size()) {
      if (!block_.empty()) empty_.put(std::move(block_));
      block_.clear();
      at_ = 0;
      if (auto next = full_.take()) {
        block_ = std::move(*next);
      } else {
        if (error_) std::rethrow_exception(error_);
        return 0;
      }
    }
    const std::size_t count = std::min(most, block_.size() - at_);
    std::memcpy(to, block_.data() + at_, count);
    at_ += count;
    return count;
  }
  const std::string& name() const override { return source_->name(); }
  // The source's, which its thread no longer touches after it closed full_.
  std::string damage() const override { return source_->damage(); }
  SourceProgress progress() const override { return source_->progress(); }

 private:
  using Block = std::vector<char>;

  // On the other thread. What it leaves in error_ is visible to the thread that finds full_ closed.
  void run() {
    try {
      while (auto block = empty_.take()) {  // none: nobody reads on
        block->resize(kUnpackedBytes);
        block->resize(source_->read(block->data(), block->size()));
        if (block->empty() || !full_.put(std::move(*block))) break;
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    full_.close();
  }

  std::unique_ptr<ByteSource> source_;
  HandOver<Block> full_, empty_;
  Block block_;  // that read() is in
  std::size_t at_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> source, Unpacking how) {
  auto peeked = std::make_unique<FirstBytesSource>(std::move(source));
  auto unpacker = unpacker_of(peeked->first_bytes());
  if (!unpacker) return peeked;
  auto whole = std::make_unique<UnpackedSource>(std::move(peeked), std::move(unpacker));
  if (!kHasThreads || how == Unpacking::OnCallersThread) return whole;
  return std::make_unique<AheadSource>(std::move(whole));
}
std::unique_ptr<ByteSource> open_source(const std::string& path) {
  return unpacked(std::make_unique<FileSource>(path));
}

}  // namespace pel::doctor
