#include "doctor/readers/kineto.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "base/check.h"
#include "base/has_threads.h"
#include "doctor/readers/batch_queue.h"
#include "doctor/readers/decimal_time.h"
#include "doctor/readers/event_counts.h"
#include "doctor/readers/parse_events.h"
#include "doctor/readers/split_events.h"
#include "doctor/readers/xla.h"

namespace pel::doctor {
namespace {

constexpr std::size_t kMaxMetadataBytes = std::size_t{16} << 20;  // that are kept, of all values together

constexpr int kBatches = 6;         // on their way between the threads
constexpr int kCarefulBlocks = 64;  // after something broken, which are not left for another to parse

// Takes a batch that is full and gives one that is free; null: nobody wants more.
using Deliver = FunctionRef<BatchPointer(BatchPointer)>;

// Makes batches of events out of bytes.
class KinetoReader {
 public:
  KinetoReader(ByteSource& source, const ReadOptions& options)
      : source_(source), options_(options), batch_(std::make_unique<EventBatch>()) {
    batch_->restart({}, std::max<std::size_t>(options_.block_bytes, 1));
    fill();
    if (source_error_) std::rethrow_exception(source_error_);
  }

  bool has_whole_document() const { return rest_ == Rest::IsThere; }

  // All but what is counted of events. With a queue, events are left in it to be parsed, as if nothing were
  // wrong with them; what was is then read again.
  TraceSummary run(Deliver deliver, BatchQueue* queue = nullptr) {
    queue_ = queue;
    for (;;) {
      check_stop(options_.stop);
      if (wasted_bytes_ > options_.max_wasted_bytes) return give_up(deliver);
      const bool are_events = splitter_.position() >= one_by_one_until_ && splitter_.comes_to_event(text());
      const std::size_t end = are_events ? splitter_.last_event(text()) : 0;
      if (are_events && leave_events(end)) {
        if (!more(deliver)) return std::move(summary_);
        continue;
      }
      if (is_anything_left_ && !all_is_right()) continue;
      if (are_events) events(end);
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
          if (!more(deliver)) return std::move(summary_);
          break;
        case Piece::Kind::Comma:
          begin_skip(piece.begin, piece.reason);
          end_skip(splitter_.position());
          break;
        case Piece::Kind::Broken:
          begin_skip(piece.begin, piece.reason);
          wasted_bytes_ += piece.end - piece.begin;
          splitter_.recover(piece.begin + 1);
          break;
        case Piece::Kind::Truncated:
          begin_skip(piece.begin, piece.reason);
          wasted_bytes_ += text().size() - piece.begin;
          if (recover_within(piece.begin, text().size())) break;
          summary_.is_truncated = true;
          return finish(deliver);
        case Piece::Kind::End:
          return finish(deliver);
      }
    }
  }

 private:
  std::string_view text() const { return batch_->text(); }

  // What goes wrong is kept until all that was read before is parsed.
  void fill() {
    batch_->offset = dropped_;
    try {
      if (!source_error_) read_source();
    } catch (...) {
      source_error_ = std::current_exception();
    }
    batch_->progress = source_.progress();
    // Real traces have it in their first block, and pieces that are not done yet stay in the text.
    if (!summary_.has_event_list)
      summary_.has_event_list = text().find("\"traceEvents\"") != std::string_view::npos;
  }
  void read_source() {
    while (batch_->free_bytes() != 0) {
      const std::size_t count = source_.read(batch_->free_space(), batch_->free_bytes());
      if (count == 0) {
        damage_ = source_.damage();
        PEL_CHECK(damage_.empty() || options_.reading == Reading::Lenient, FileError, "{}: {}",
                  source_.name(), damage_);
        rest_ = Rest::IsThere;
        break;
      }
      batch_->add_bytes(count);
      summary_.bytes += count;
    }
  }
  // Events that lie over a border are scanned again from their beginning, so the buffer doubles with them.
  bool more(Deliver deliver) {
    const std::size_t done = splitter_.position();
    const std::string_view rest = text().substr(done);
    std::size_t capacity = std::max<std::size_t>(options_.block_bytes, 1);
    if (done == 0 && batch_->free_bytes() == 0) {
      if (batch_->capacity() >= options_.longest_piece_bytes) {
        begin_skip(0, "the piece is longer than an event may be");
        wasted_bytes_ += 2 * batch_->capacity();
        splitter_.recover(1);
        return true;
      }
      capacity = std::min(2 * batch_->capacity(), options_.longest_piece_bytes);
    }
    capacity = std::max(capacity, rest.size());
    if (batch_->count() == 0 && batch_->left_text().empty()) {
      batch_->restart(rest, capacity);
    } else {
      const std::string kept(rest);
      batch_ = deliver(std::move(batch_));
      if (!batch_) return false;
      batch_->restart(kept, capacity);
    }
    dropped_ += done;
    splitter_.drop(done);
    one_by_one_until_ = 0;
    careful_blocks_ = std::max(careful_blocks_ - 1, 0);
    fill();
    if (is_anything_left_ && read_again()) return true;
    if (source_error_ && (!is_anything_left_ || all_is_right())) std::rethrow_exception(source_error_);
    return true;
  }

  // Leaves all events that seem to be there, but the last, which begins at `end`, to the one who takes the
  // batch.
  bool leave_events(std::size_t end) {
    if (queue_ == nullptr || rest_ == Rest::IsThere || careful_blocks_ != 0 || is_skipping_) return false;
    const std::size_t begin = splitter_.position();
    if (end == std::string_view::npos || end <= begin) return false;
    batch_->left = {begin, end};
    splitter_.pass(end);
    is_anything_left_ = true;
    return true;
  }
  // Waits for all events that were left. False: something was wrong, and is read again.
  bool all_is_right() {
    queue_->parse_all();
    is_anything_left_ = false;
    return !read_again();
  }
  bool read_again() {
    std::optional<BatchQueue::Broken> broken = queue_->take_back();
    if (!broken) return false;
    is_anything_left_ = false;
    broken->text += text();
    batch_->restart(broken->text, broken->text.size());
    batch_->offset = dropped_ = broken->offset;
    splitter_.pass(0);
    one_by_one_until_ = broken->doubtful_bytes;
    careful_blocks_ = kCarefulBlocks;
    return true;
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
    if (summary_.skipped.size() < options_.max_skipped) summary_.skipped.push_back(std::move(skip_));
  }
  // With a quote too many in it, a broken event swallows those after it. False: there are none.
  bool recover_within(std::size_t begin, std::size_t end) {
    const std::size_t next = splitter_.find_event(text().substr(0, end), begin + 1);
    if (next == std::string_view::npos) return false;
    splitter_.recover(next);
    return true;
  }
  TraceSummary finish(Deliver deliver) {
    end_skip(text().size());
    if (!damage_.empty()) {
      summary_.is_truncated = true;
      begin_skip(text().size(), damage_.c_str());
      end_skip(text().size());
    }
    if (batch_->count() != 0) deliver(std::move(batch_));
    return std::move(summary_);
  }

  TraceSummary give_up(Deliver deliver) {
    is_skipping_ = false;
    begin_skip(splitter_.position(), "too much of the document is broken to continue");
    summary_.is_truncated = true;
    return finish(deliver);
  }

  // All that seem to be there, but the last. Where something is wrong with them, they are taken one by one.
  void events(std::size_t end) {
    const std::size_t begin = splitter_.position();
    one_by_one_until_ = text().size();
    if (end == std::string_view::npos || end <= begin) return;
    const std::size_t done = parser_.parse_many(text().substr(begin, end - begin), *batch_);
    if (done == 0) return;
    end_skip(begin);
    splitter_.pass(begin + done);
  }
  void event(const Piece& piece) {
    const std::string_view json = text().substr(piece.begin, piece.end - piece.begin);
    if (json == "{}") return;  // XLA writes one after its last event, to save itself a comma
    const char* problem = parser_.parse_one(json, *batch_);
    if (problem != nullptr) [[unlikely]] {
      begin_skip(piece.begin, problem);
      wasted_bytes_ += piece.end - piece.begin;
      if (!recover_within(piece.begin, piece.end)) end_skip(piece.end);
    }
  }

  void metadata(const Piece& piece) {
    const std::string_view value = text().substr(piece.begin, piece.end - piece.begin);
    if (piece.key == "baseTimeNanoseconds") summary_.base_time_ns = parse_integer(value);
    if (value.size() > kMaxMetadataBytes - metadata_bytes_) {
      summary_.metadata.emplace_back(piece.key, "");
      return;
    }
    metadata_bytes_ += value.size();
    summary_.metadata.emplace_back(piece.key, value);
  }

  ByteSource& source_;
  const ReadOptions& options_;
  EventSplitter splitter_;
  EventParser parser_;
  TraceSummary summary_;
  BatchPointer batch_;
  std::uint64_t dropped_ = 0;  // bytes of the document before the batch
  std::size_t one_by_one_until_ = 0;
  Rest rest_ = Rest::Follows;
  std::exception_ptr source_error_;
  BatchQueue* queue_ = nullptr;
  bool is_anything_left_ = false;  // in the queue to be parsed
  int careful_blocks_ = 0;
  std::string damage_;  // of what the document is packed in
  bool is_skipping_ = false;
  Skipped skip_;
  std::size_t metadata_bytes_ = 0;
  std::uint64_t wasted_bytes_ = 0;
};

class Visit {
 public:
  Visit(EventVisitor visit, const ReadOptions& options) : visit_(visit), options_(options) {}
  void operator()(const EventBatch& batch) {
    for (std::size_t i = 0; i < batch.count(); ++i) {
      const TraceEvent& event = xla_.read(batch[i]);
      counts_.note(event);
      visit_(event);
    }
    if (!options_.progress) return;
    const Clock::time_point now = Clock::now();
    if (now - last_progress_ < std::chrono::milliseconds(100)) return;
    last_progress_ = now;
    options_.progress(batch.progress);
  }
  TraceSummary whole(TraceSummary summary) { return counts_.added_to(std::move(summary)); }

 private:
  using Clock = std::chrono::steady_clock;
  EventVisitor visit_;
  const ReadOptions& options_;
  Clock::time_point last_progress_ = Clock::now();
  EventCounts counts_;
  XlaEvents xla_;
};

TraceSummary read_ahead(KinetoReader& reader, Visit& visit) {
  BatchQueue queue(kBatches - 1);
  TraceSummary summary;
  std::exception_ptr error;
  std::thread thread([&] {
    try {
      summary = reader.run([&](BatchPointer batch) { return queue.exchange(std::move(batch)); }, &queue);
    } catch (...) {
      error = std::current_exception();
    }
    queue.close();
  });
  try {
    while (BatchPointer batch = queue.take()) {
      visit(*batch);
      queue.give(std::move(batch));
    }
  } catch (...) {
    queue.close();
    thread.join();
    throw;
  }
  thread.join();
  if (error) std::rethrow_exception(error);
  return summary;
}

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

TraceSummary read_kineto(ByteSource& source, EventVisitor visit_event, const ReadOptions& options) {
  KinetoReader reader(source, options);
  Visit visit(visit_event, options);
  const bool is_ahead = kHasThreads && options.parsing == Parsing::Ahead && !reader.has_whole_document();
  TraceSummary summary = is_ahead ? read_ahead(reader, visit) : reader.run([&](BatchPointer batch) {
    visit(*batch);
    return batch;
  });
  return visit.whole(std::move(summary));
}
TraceSummary read_kineto(const std::string& path, EventVisitor visit, const ReadOptions& options) {
  const auto source = open_source(path);
  return read_kineto(*source, visit, options);
}

}  // namespace pel::doctor
