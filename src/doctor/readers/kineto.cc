#include "doctor/readers/kineto.h"

#include <cstring>
#include <memory>

#include "base/check.h"
#include "doctor/readers/decimal_time.h"
#include "doctor/readers/parse_event.h"
#include "doctor/readers/split_events.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMostMetadataBytes = std::size_t{16} << 20;  // that are kept, of all values together
constexpr std::size_t kMostOtherCategories = 100;

class KinetoReader {
 public:
  KinetoReader(ByteSource& source, EventVisitor visit, const ReadOptions& options)
      : source_(source), visit_(visit), options_(options) {}

  TraceSummary run() {
    grow(options_.block_bytes);
    fill();
    refuse_compressed();
    for (;;) {
      const Piece piece = splitter_.next(text(), rest_);
      switch (piece.kind) {
        case Piece::Kind::Event:
          end_skip(piece.begin);
          event(piece);
          break;
        case Piece::Kind::Member:
          end_skip(piece.begin);
          metadata(piece);
          break;
        case Piece::Kind::NeedsMore:
          more();
          break;
        case Piece::Kind::Comma:
          begin_skip(piece.begin, piece.reason);
          end_skip(splitter_.position());
          break;
        case Piece::Kind::Broken:
          begin_skip(piece.begin, piece.reason);
          splitter_.recover(piece.begin + 1);
          break;
        case Piece::Kind::Truncated:
          begin_skip(piece.begin, piece.reason);
          if (recover_within(piece.begin, used_)) break;
          summary_.is_truncated = true;
          return finish();
        case Piece::Kind::End:
          return finish();
      }
    }
  }

 private:
  std::string_view text() const { return {buffer_.get(), used_}; }

  // Events that lie over a border are scanned again from their beginning, so the buffer doubles with them.
  void grow(std::size_t capacity) {
    auto buffer = std::make_unique_for_overwrite<char[]>(capacity + EventParser::kPadding);
    if (used_ != 0) std::memcpy(buffer.get(), buffer_.get(), used_);
    std::memset(buffer.get() + used_, 0, EventParser::kPadding);
    buffer_ = std::move(buffer);
    capacity_ = capacity;
  }
  void fill() {
    while (used_ < capacity_) {
      const std::size_t count = source_.read(buffer_.get() + used_, capacity_ - used_);
      if (count == 0) {
        rest_ = Rest::IsThere;
        break;
      }
      used_ += count;
      summary_.bytes += count;
    }
    std::memset(buffer_.get() + used_, 0, EventParser::kPadding);
  }
  void more() {
    const std::size_t done = splitter_.position();
    if (done == 0 && used_ == capacity_) {
      if (capacity_ >= options_.longest_piece_bytes) {
        begin_skip(0, "longer than an event may be");
        splitter_.recover(1);
        return;
      }
      grow(std::min(2 * capacity_, options_.longest_piece_bytes));
    }
    std::memmove(buffer_.get(), buffer_.get() + done, used_ - done);
    used_ -= done;
    dropped_ += done;
    splitter_.drop(done);
    fill();
  }

  void refuse_compressed() const {
    const bool is_gzip = text().starts_with("\x1f\x8b"), is_zstd = text().starts_with("\x28\xb5\x2f\xfd");
    PEL_CHECK(!is_gzip && !is_zstd, FileError,
              "{} is compressed by {}, which is not read yet: unpack it first", source_.name(),
              is_gzip ? "gzip" : "zstd");
  }

  // From where something is wrong to where the next thing is right again.
  void begin_skip(std::size_t at, const char* reason) {
    PEL_CHECK(options_.reading == Reading::Lenient, FileError, "{} at byte {}: {}", source_.name(),
              dropped_ + at, reason);
    if (is_skipping_) return;
    is_skipping_ = true;
    skip_ = {dropped_ + at, 0, reason};
  }
  void end_skip(std::size_t at) {
    if (!is_skipping_) [[likely]]
      return;
    is_skipping_ = false;
    skip_.bytes = dropped_ + at - skip_.offset;
    ++summary_.skipped_count;
    summary_.skipped_bytes += skip_.bytes;
    if (summary_.skipped.size() < options_.most_skipped) summary_.skipped.push_back(std::move(skip_));
  }
  // With a quote too many in it, a broken event swallows those behind it. False: there are none.
  bool recover_within(std::size_t begin, std::size_t end) {
    const std::size_t next = splitter_.find_event(text().substr(0, end), begin + 1);
    if (next == std::string_view::npos) return false;
    splitter_.recover(next);
    return true;
  }
  TraceSummary finish() {
    end_skip(used_);
    return std::move(summary_);
  }

  void event(const Piece& piece) {
    const char* problem = parser_.parse(text().substr(piece.begin, piece.end - piece.begin), event_);
    if (problem != nullptr) [[unlikely]] {
      begin_skip(piece.begin, problem);
      if (!recover_within(piece.begin, piece.end)) end_skip(piece.end);
      return;
    }
    ++summary_.events;
    ++summary_.counts[static_cast<std::size_t>(event_.phase)][static_cast<std::size_t>(event_.category)];
    if (event_.category == Category::Other) [[unlikely]]
      other_category();
    // Today's names are in lower case, all but Trace, which both have.
    const bool is_upper = !event_.category_text.empty() && event_.category_text[0] < 'a';
    if (is_upper && event_.category != Category::TraceSpan && event_.category != Category::Other)
      summary_.has_old_categories = true;
    visit_(event_);
  }
  void other_category() {
    auto& all = summary_.other_categories;
    const std::string name(event_.category_text);
    if (all.size() < kMostOtherCategories || all.contains(name)) ++all[name];
  }

  void metadata(const Piece& piece) {
    const std::string_view value = text().substr(piece.begin, piece.end - piece.begin);
    if (piece.key == "baseTimeNanoseconds") summary_.base_time_ns = parse_integer(value);
    if (value.size() > kMostMetadataBytes - metadata_bytes_) {
      summary_.metadata.emplace_back(piece.key, "");
      return;
    }
    metadata_bytes_ += value.size();
    summary_.metadata.emplace_back(piece.key, value);
  }

  ByteSource& source_;
  EventVisitor visit_;
  const ReadOptions& options_;
  EventSplitter splitter_;
  EventParser parser_;
  TraceEvent event_;
  TraceSummary summary_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, used_ = 0;
  std::uint64_t dropped_ = 0;  // bytes of the document before the buffer
  Rest rest_ = Rest::Follows;
  bool is_skipping_ = false;
  Skipped skip_;
  std::size_t metadata_bytes_ = 0;
};

}  // namespace

std::uint64_t TraceSummary::count(Phase phase) const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts[static_cast<std::size_t>(phase)]) sum += count;
  return sum;
}
std::uint64_t TraceSummary::count(Category category) const {
  std::uint64_t sum = 0;
  for (const auto& of_phase : counts) sum += of_phase[static_cast<std::size_t>(category)];
  return sum;
}
const std::string* TraceSummary::find(std::string_view key) const {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

TraceSummary read_kineto(ByteSource& source, EventVisitor visit, const ReadOptions& options) {
  return KinetoReader(source, visit, options).run();
}
TraceSummary read_kineto(const std::string& path, EventVisitor visit, const ReadOptions& options) {
  FileSource source(path);
  return read_kineto(source, visit, options);
}

}  // namespace pel::doctor
