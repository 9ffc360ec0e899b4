// Records as events.
#include "pellucid/profile.h"

#include <algorithm>

#include "profile/recorder.h"
#include "profile/session.h"

namespace pel {

using profile::Chunk;
using profile::Header;
using profile::ThreadBuffer;

struct Profile::State {
  std::unique_ptr<profile::Session> session;
};

namespace {

// Reads records out of the words of a chunk.
class Reader {
 public:
  Reader(const profile::Session& session, std::uint32_t thread) : session_(session) {
    event_.thread = thread;
  }

  // The event that stands at `from`.
  const ProfileEvent& read(const std::uint64_t* from) {
    Header header;
    std::memcpy(&header, from, sizeof header);
    const auto thread = event_.thread;
    event_ = ProfileEvent();
    event_.thread = thread;
    event_.kind = static_cast<ProfileEvent::Kind>(header.kind);
    event_.depth = header.depth;
    event_.is_sync = (header.flags & profile::kSync) != 0;
    event_.is_composite = (header.flags & profile::kComposite) != 0;
    event_.is_outermost = (header.flags & profile::kOutermost) != 0;
    event_.output_count = header.outputs;
    refusals_.clear();
    if (event_.kind == ProfileEvent::Kind::Memory) {
      const auto record = take<profile::MemoryRecord>(from);
      event_.name = record.bytes < 0 ? "free" : "allocate";
      event_.begin_ns = event_.end_ns = since_begin(record.at);
      event_.bytes = record.bytes;
      event_.bytes_in_use = record.bytes_in_use;
    } else if (event_.kind == ProfileEvent::Kind::Kernel) {
      const auto record = take<profile::KernelRecord>(from);
      set_span(record);
      event_.id = record.op_id;
      event_.bytes_read = record.bytes_read;
      event_.bytes_written = record.bytes_written;
      event_.flops = record.flops;
      for (int i = 0; i < header.refusals; ++i) refusals_.push_back(take<ProfileEvent::Refusal>(from));
    } else {
      const auto record = take<profile::SpanRecord>(from);
      set_span(record);
      event_.id = record.id;
      event_.sequence = record.sequence;
    }
    event_.refusals = refusals_;
    read_shapes(from, header.shapes);
    return event_;
  }

 private:
  template <class Record>
  static Record take(const std::uint64_t*& from) {
    Record record;
    std::memcpy(static_cast<void*>(&record), from, sizeof record);
    from += sizeof record / sizeof(std::uint64_t);
    return record;
  }
  template <class Record>
  void set_span(const Record& record) {
    event_.name = record.name;
    event_.site = record.site;
    event_.begin_ns = since_begin(record.begin);
    event_.end_ns = since_begin(record.end);
  }
  std::uint64_t since_begin(std::uint64_t ticks) const {
    if (ticks <= session_.began.ticks) return 0;  // cores may differ by a few ticks
    return static_cast<std::uint64_t>(static_cast<double>(ticks - session_.began.ticks) *
                                      session_.ns_per_tick);
  }
  void read_shapes(const std::uint64_t* from, std::size_t count) {
    numbers_.clear();
    shapes_.clear();
    ranks_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto header = take<profile::ShapeHeader>(from);
      shapes_.push_back({static_cast<DType>(header.dtype), {}, {}});
      ranks_.push_back(header.rank);
      const std::size_t at = numbers_.size();
      numbers_.resize(at + 2 * header.rank);
      for (std::size_t axis = 0; axis < header.rank; ++axis) {
        const std::uint64_t word = *from++;
        numbers_[at + axis] = static_cast<std::int64_t>(header.is_wide ? word : word & 0xffffffff);
        numbers_[at + header.rank + axis] = static_cast<std::int64_t>(header.is_wide ? *from++ : word >> 32);
      }
    }
    const std::int64_t* next = numbers_.data();  // it no longer moves
    for (std::size_t i = 0; i < count; ++i) {
      shapes_[i].sizes = {next, ranks_[i]};
      shapes_[i].strides = {next + ranks_[i], ranks_[i]};
      next += 2 * ranks_[i];
    }
    event_.shapes = shapes_;
  }

  const profile::Session& session_;
  ProfileEvent event_;
  std::vector<ProfileEvent::Refusal> refusals_;
  std::vector<ProfileEvent::Shape> shapes_;
  std::vector<std::size_t> ranks_;
  std::vector<std::int64_t> numbers_;
};

// f(words of a record) for each record of a thread.
template <class F>
void for_records(const ThreadBuffer& buffer, F&& f) {
  for (const std::unique_ptr<Chunk>& chunk : buffer.chunks) {
    const std::size_t used = chunk->used.load(std::memory_order_acquire);
    for (std::size_t at = 0; at < used;) {
      Header header;
      std::memcpy(&header, chunk->words + at, sizeof header);
      f(chunk->words + at);
      at += header.words;
    }
  }
}

}  // namespace

Profile::Profile(const ProfileOptions& options) : state_(new State{profile::begin_session(options)}) {}
Profile::~Profile() { profile::free_session(*state_->session); }

void Profile::stop() { profile::end_session(*state_->session); }

void Profile::each(const std::function<void(const ProfileEvent&)>& f) {
  stop();
  for (const ThreadBuffer* buffer : state_->session->buffers) {
    Reader reader(*state_->session, buffer->thread);
    for_records(*buffer, [&](const std::uint64_t* words) { f(reader.read(words)); });
  }
}

std::uint64_t Profile::event_count() {
  stop();
  std::uint64_t count = 0;
  for (const ThreadBuffer* buffer : state_->session->buffers)
    for_records(*buffer, [&](const std::uint64_t*) { ++count; });
  return count;
}

std::uint64_t Profile::dropped() {
  stop();
  std::uint64_t count = 0;
  for (const ThreadBuffer* buffer : state_->session->buffers)
    count += buffer->dropped.load(std::memory_order_relaxed);
  return count;
}

std::int64_t Profile::bytes_used() {
  stop();
  return state_->session->bytes;
}
std::int64_t Profile::began_unix_ns() { return state_->session->began.unix_ns; }
std::uint64_t Profile::duration_ns() {
  stop();
  return static_cast<std::uint64_t>(state_->session->ended.steady_ns - state_->session->began.steady_ns);
}

}  // namespace pel
