// Converts records to events.
#include "pellucid/profile.h"

#include <algorithm>

#include "profile/collective_note.h"
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

  // Calls f(event) for the record at `from`: once, or for a kernel and then its op.
  template <class F>
  void read(const std::uint64_t* from, F&& f) {
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
    if (event_.kind == ProfileEvent::Kind::Kernel) return read_kernel(header, from, f);
    if (event_.kind == ProfileEvent::Kind::Memory) {
      const auto record = take<profile::MemoryRecord>(from);
      event_.name = record.bytes < 0 ? "free" : "allocate";
      event_.begin_ns = event_.end_ns = since_begin(record.at);
      event_.bytes = record.bytes;
      event_.bytes_in_use = record.bytes_in_use;
    } else if (event_.kind == ProfileEvent::Kind::Launch || event_.kind == ProfileEvent::Kind::Sync ||
               event_.kind == ProfileEvent::Kind::Copy) {
      const auto record = take<profile::DeviceRecord>(from);
      set_span(record);
      set_spot(record.spot);
      event_.id = record.op_id;
      if (event_.kind == ProfileEvent::Kind::Copy) {
        event_.bytes = static_cast<std::int64_t>(record.amount);
      } else {
        event_.queued = record.amount;
      }
      read_refusals(from, header.refusals);
    } else if (event_.kind == ProfileEvent::Kind::Piece) {
      const auto record = take<profile::PieceRecord>(from);
      set_span(record);
      event_.first_element = record.first_element;
      event_.end_element = record.end_element;
      event_.caller_thread = static_cast<std::uint32_t>(record.caller_thread);
    } else {
      const auto record = take<profile::SpanRecord>(from);
      set_span(record);
      event_.id = record.id;
      event_.sequence = record.sequence;
      read_shapes(from, header.shapes);
    }
    f(event_);
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
  void set_spot(const profile::DeviceSpot& spot) {
    event_.device = {static_cast<DeviceType>(spot.device_type), spot.device_index};
    event_.stream = spot.stream;
    event_.correlation = spot.correlation;
    event_.caller_thread = spot.thread;
  }
  void read_refusals(const std::uint64_t*& from, std::size_t count) {
    refusals_.clear();
    for (std::size_t i = 0; i < count; ++i) refusals_.push_back(take<ProfileEvent::Refusal>(from));
    event_.refusals = refusals_;
  }
  std::uint64_t since_begin(std::uint64_t ticks) const {
    if (ticks <= session_.began.ticks) return 0;  // cores may differ by a few ticks
    return static_cast<std::uint64_t>(static_cast<double>(ticks - session_.began.ticks) *
                                      session_.ns_per_tick);
  }
  template <class F>
  void read_kernel(const Header& header, const std::uint64_t* from, F&& f) {
    const auto record = take<profile::KernelRecord>(from);
    set_span(record);
    event_.id = record.op_id;
    event_.op = record.op_name;
    event_.is_outermost = false;
    event_.output_count = header.outputs;
    read_refusals(from, header.refusals);
    read_shapes(from, header.shapes);
    if (header.flags & profile::kHasBytes) {
      event_.bytes_read = *from++;
      event_.bytes_written = *from++;
    } else {
      for (std::size_t i = 0; i < shapes_.size(); ++i) {
        const ProfileEvent::Shape& s = shapes_[i];
        (i < header.outputs ? event_.bytes_written : event_.bytes_read) +=
            profile::elements_addressed(s.sizes.size(), s.sizes.data(), s.strides.data()) *
            static_cast<std::uint64_t>(size_bytes(s.dtype));
      }
    }
    if (header.flags & profile::kHasFlops) event_.flops = *from++;
    if (header.flags & profile::kHasSpot) set_spot(take<profile::DeviceSpot>(from));
    if (header.flags & profile::kHasCollective) {
      const auto note = take<profile::CollectiveNote>(from);
      event_.collective = {note.name, note.group, note.number, note.ranks};
    }
    f(event_);
    if ((header.flags & profile::kWithOp) == 0) return;
    ProfileEvent op;
    op.kind = ProfileEvent::Kind::Op;
    op.is_outermost = (header.flags & profile::kOutermost) != 0;
    op.thread = event_.thread;
    op.depth = event_.depth - 1u;
    op.name = record.op_name;
    op.site = record.site;
    op.id = record.op_id;
    op.begin_ns = since_begin(record.op_begin);
    op.end_ns = event_.end_ns;
    op.shapes = {event_.shapes.data() + header.outputs, event_.shapes.size() - header.outputs};
    f(op);
  }
  void read_shapes(const std::uint64_t*& from, std::size_t count) {
    numbers_.clear();
    shapes_.clear();
    ranks_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto header = take<profile::ShapeHeader>(from);
      shapes_.push_back({static_cast<DType>(header.dtype), {}, {}});
      const std::size_t rank = header.rank;
      ranks_.push_back(rank);
      const std::size_t at = numbers_.size();
      numbers_.resize(at + 2 * rank);
      std::int64_t *const sizes = numbers_.data() + at, *const strides = sizes + rank;
      if (header.form == profile::ShapeForm::RowMajor) {
        for (std::size_t axis = 0; axis < rank; ++axis)
          sizes[axis] = static_cast<std::int64_t>(from[axis / 2] >> (axis % 2 * 32) & 0xffffffff);
        std::int64_t stride = 1;
        for (std::size_t axis = rank; axis-- > 0;) {
          strides[axis] = stride;
          stride *= std::max<std::int64_t>(sizes[axis], 1);
        }
        from += (rank + 1) / 2;
      } else {
        const bool is_wide = header.form == profile::ShapeForm::Wide;
        for (std::size_t axis = 0; axis < rank; ++axis) {
          const std::uint64_t word = *from++;
          sizes[axis] = static_cast<std::int64_t>(is_wide ? word : word & 0xffffffff);
          strides[axis] = static_cast<std::int64_t>(is_wide ? *from++ : word >> 32);
        }
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

// Calls f(words of a record) for each record of a thread.
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

void Profile::stop() {
  const bool is_stopped = state_->session->ns_per_tick != 0;
  if (is_stopped) return;
  if (const auto drain = profile::drain_devices.load(std::memory_order_acquire)) drain();
  profile::end_session(*state_->session);
}

void Profile::each(const std::function<void(const ProfileEvent&)>& f) {
  stop();
  for (const ThreadBuffer* buffer : state_->session->buffers) {
    Reader reader(*state_->session, buffer->thread);
    for_records(*buffer, [&](const std::uint64_t* words) { reader.read(words, f); });
  }
}

std::uint64_t Profile::event_count() {
  stop();
  std::uint64_t count = 0;
  for (const ThreadBuffer* buffer : state_->session->buffers)
    for_records(*buffer, [&](const std::uint64_t* words) {
      Header header;
      std::memcpy(&header, words, sizeof header);
      count += 1 + (header.flags & profile::kWithOp) / profile::kWithOp;
    });
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
