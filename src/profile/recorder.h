// Counts launches and writes records: one at the end of each span, into a chunk that belongs to the thread.
// Only a change of chunks takes a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "pellucid/extend/keys.h"
#include "pellucid/profile.h"

#include "base/thread_object.h"
#include "profile/clock.h"
#include "profile/records.h"

namespace pel::profile {

// The session that records now, a number unique to each Profile, and its options. 0: nothing is recorded.
struct Settings {
  static constexpr std::uint32_t kShapes = 1, kLayers = 2, kMemory = 4, kBits = 3;
  std::uint32_t bits = 0;
  std::uint32_t session() const { return bits >> kBits; }
  bool wants(std::uint32_t what) const { return (bits & what) != 0; }
};
extern constinit std::atomic<std::uint32_t> settings_bits;
inline Settings settings() { return {settings_bits.load(std::memory_order_relaxed)}; }

struct ThreadBuffer;
struct LaunchOrigin;

}  // namespace pel::profile
namespace pel::detail {
class OpSpan;
}
namespace pel::profile {

struct ThreadState {
  std::uint64_t launches = 0;
  Recording* recording = nullptr;
  // Open op spans plus recordings. If 0, a launch checks nothing else.
  std::uint32_t watchers = 0;

  std::uint32_t session = 0;                                          // that `cursor` belongs to
  std::uint64_t *begin = nullptr, *cursor = nullptr, *end = nullptr;  // of its last chunk
  std::uint64_t* pending = nullptr;  // end of a record at `cursor` that waits for the end of its op
  std::atomic<std::size_t>* used = nullptr;
  ThreadBuffer* buffer = nullptr;

  std::uint32_t depth = 0;
  std::uint32_t refusal_count = 0;
  std::uint64_t last_id = 0;
  std::uint64_t kernel_end = 0;            // of the last kernel
  const char* kernel = nullptr;            // that runs now, while a profile or a recording watches
  std::uint32_t loop_session = 0;          // of the parallel loop of this thread under way
  std::uint32_t number_plus_one = 0;       // thread_number() + 1, once someone asked for it
  bool has_small_chunks = false;           // a worker of the pool, which only records pieces
  bool has_collective = false;             // the kernel under way has a CollectiveNote
  pel::detail::OpSpan* op_span = nullptr;  // of the innermost op
  const LaunchOrigin* launch = nullptr;    // under way on an asynchronous device; see device_span.h
  Site site{};  // of the outermost op, which is the user's call; line 0: no op is open
};
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

inline void count_launch() { ++thread_state.launches; }
inline bool is_watched() { return thread_state.watchers != 0; }

// Returns space for a record of up to kMaxWords, or null if the profile is full or has ended. It must be
// committed before the next call. A pending record is committed as that of a kernel alone; its op gets a
// record of its own.
std::uint64_t* take_slow(std::uint32_t session);
inline std::uint64_t* take(std::uint32_t session) {
  ThreadState& state = thread_state;
  if (state.session != session || state.pending != nullptr ||
      state.end - state.cursor < std::ptrdiff_t{kMaxWords}) [[unlikely]]
    return take_slow(session);
  return state.cursor;
}
// Publishes the record that was written up to `end`.
inline void commit(std::uint64_t* end) {
  ThreadState& state = thread_state;
  state.cursor = end;
  state.used->store(static_cast<std::size_t>(end - state.begin), std::memory_order_release);
}

// Records are filled in place: built elsewhere and copied, the copy would wait for the narrow stores.
template <class Record>
Record& new_record(std::uint64_t* to, const std::uint64_t* end, ProfileEvent::Kind kind) {
  Record& record = *new (to) Record;
  const std::uint32_t depth = thread_state.depth;
  record.header = {
      static_cast<std::uint8_t>(kind),     0, static_cast<std::uint8_t>(depth < 255 ? depth : 255), 0, 0, 0,
      static_cast<std::uint16_t>(end - to)};
  return record;
}

// One span, begun and ended by its owner on the same thread.
struct OpenSpan {
  std::uint32_t session = 0;  // 0: nothing is recorded
  std::uint64_t begin = 0;

  // `now` is what settings() returned to the caller.
  void start(Settings now) {
    session = now.session();
    ++thread_state.depth;
    begin = ticks();
  }
  // False: the profile has ended meanwhile, and the span is not recorded.
  bool finish() {
    --thread_state.depth;
    return settings().session() == session;
  }
};

// Spans without shapes: layers, ranges, modules, compilations.
void write_span(ProfileEvent::Kind kind, const OpenSpan& span, const char* name, const Site& site,
                std::uint64_t sequence);
void write_memory(std::int64_t bytes, std::int64_t bytes_in_use);
inline void note_memory(std::int64_t bytes, std::int64_t bytes_in_use) {
  if (settings().wants(Settings::kMemory)) [[unlikely]]
    write_memory(bytes, bytes_in_use);
}
// The refusals of the next kernel; thread_state.refusal_count of them.
using Refusals = std::array<ProfileEvent::Refusal, kMaxRefusals>;
inline void note_refusal(const char* kernel, const char* reason) {
  ThreadState& state = thread_state;
  if (state.refusal_count < kMaxRefusals) thread_object<Refusals>()[state.refusal_count++] = {kernel, reason};
}

// The handler of one dispatch key; recorded if the profile has layers on.
class LayerSpan : public Range {
 public:
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): a literal
  explicit LayerSpan(Key key) : Range(ProfileEvent::Kind::Layer, name(key).data(), Site{}) {}
};

// A compilation at run time. The name lives as long as the process.
class CompileSpan : public Range {
 public:
  explicit CompileSpan(const char* name) : Range(ProfileEvent::Kind::Compile, name, Site{}) {}
};

std::uint32_t thread_number();
std::uint64_t now_ns();
void record(Event event);  // fills in the thread

}  // namespace pel::profile
