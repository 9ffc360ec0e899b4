#include "profile/session.h"

#include <algorithm>
#include <mutex>

#include <sys/mman.h>

#include "pellucid/extend/keys.h"

#include "base/check.h"
#include "base/huge_pages.h"
#include "profile/piece_span.h"
#include "profile/recorder.h"

namespace pel::profile {

constinit std::atomic<void (*)()> drain_devices{nullptr};

namespace {

constexpr std::int64_t kChunkBytes = kHugePageBytes;
// Of workers, of which there may be hundreds: 3000 pieces.
constexpr std::int64_t kWorkerChunkBytes = 256 << 10;

// Guards the list of buffers, and who owns them.
std::mutex& mutex() {
  static auto* const instance = new std::mutex;
  return *instance;
}
constinit Session* active = nullptr;
constinit std::uint32_t last_number = 0;

std::uint16_t key_bits(const ProfileOptions& options) {
  return static_cast<std::uint16_t>(KeySet(Key::Profile).bits() |
                                    (options.layers ? pel::detail::kLayered : 0));
}

// The chunks of the last Profile, reused by the next: their pages are mapped already.
constexpr std::size_t kMaxSpare = 8;
std::vector<std::unique_ptr<Chunk>>& spare() {
  static auto* const chunks = new std::vector<std::unique_ptr<Chunk>>;
  return *chunks;
}

// A page fault for 4 KB costs as much as twenty records; for a huge page, a tenth of that.
std::unique_ptr<Chunk> make_chunk(std::int64_t bytes) {
  if (bytes == kChunkBytes && !spare().empty()) {
    std::unique_ptr<Chunk> chunk = std::move(spare().back());
    spare().pop_back();
    return chunk;
  }
  std::byte* const begin = map_huge_pages(static_cast<std::size_t>(bytes));
  if (begin == nullptr) return nullptr;
  auto chunk = std::make_unique<Chunk>();
  chunk->words = reinterpret_cast<std::uint64_t*>(begin);
  chunk->capacity = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
  return chunk;
}

void free_chunks(ThreadBuffer& buffer, std::size_t keep) {
  while (buffer.chunks.size() > keep) {
    std::unique_ptr<Chunk> chunk = std::move(buffer.chunks.front());
    buffer.chunks.erase(buffer.chunks.begin());
    if (chunk->capacity == kChunkBytes / sizeof(std::uint64_t) && spare().size() < kMaxSpare) {
      chunk->used.store(0, std::memory_order_relaxed);
      spare().push_back(std::move(chunk));
    } else {
      munmap(chunk->words, chunk->capacity * sizeof(std::uint64_t));
    }
  }
}

// Called when the thread writes to this buffer no more.
void leave_buffer(ThreadState& state) {
  ThreadBuffer* buffer = std::exchange(state.buffer, nullptr);
  state.begin = state.cursor = state.end = nullptr;
  if (buffer == nullptr) return;
  const std::lock_guard lock(mutex());
  buffer->has_thread = false;
  if (buffer->has_session) return;
  free_chunks(*buffer, 0);
  delete buffer;
}

struct AtThreadExit {
  ~AtThreadExit() { leave_buffer(thread_state); }
};

bool join(ThreadState& state, std::uint32_t session) {
  leave_buffer(state);
  thread_local const AtThreadExit at_exit;
  static_cast<void>(at_exit);
  const std::lock_guard lock(mutex());
  if (active == nullptr || active->number != session) return false;
  state.session = session;
  state.buffer = new ThreadBuffer;
  state.buffer->thread = thread_number();
  active->buffers.push_back(state.buffer);
  return true;
}

}  // namespace

std::uint64_t* take_slow(std::uint32_t session) {
  ThreadState& state = thread_state;
  if (std::uint64_t* const waiting = std::exchange(state.pending, nullptr);
      waiting != nullptr && state.session == session) {
    reinterpret_cast<Header*>(state.cursor)->flags &= static_cast<std::uint8_t>(~kWithOp);
    commit(waiting);
    return take(session);
  }
  if ((state.session != session || state.buffer == nullptr) && !join(state, session)) return nullptr;
  {
    const std::lock_guard lock(mutex());
    if (active == nullptr || active->number != session) return nullptr;
    const std::int64_t left = active->options.max_bytes - active->bytes;
    const std::int64_t bytes =
        std::min(state.has_small_chunks ? kWorkerChunkBytes : kChunkBytes, left / 4096 * 4096);
    std::unique_ptr<Chunk> chunk;
    if (bytes >= static_cast<std::int64_t>(kMaxWords * sizeof(std::uint64_t))) chunk = make_chunk(bytes);
    if (chunk) {
      active->bytes += bytes;
      state.begin = state.cursor = chunk->words;
      state.end = chunk->words + chunk->capacity;
      state.used = &chunk->used;
      state.buffer->chunks.push_back(std::move(chunk));
      return state.cursor;
    }
  }
  state.buffer->dropped.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

std::unique_ptr<Session> begin_session(const ProfileOptions& options) {
  PEL_CHECK(options.max_bytes >= 4096, ValueError, "max_bytes is {}; it must be at least 4096",
            options.max_bytes);
  start_clock();
  auto session = std::make_unique<Session>();
  session->options = options;
  {
    const std::lock_guard lock(mutex());
    PEL_CHECK(active == nullptr, ValueError, "another Profile is recording; stop it first");
    last_number = (last_number + 1) & ((1u << (32 - Settings::kBits)) - 1);
    if (last_number == 0) last_number = 1;
    session->number = last_number;
    session->began = Moment::now();
    active = session.get();
  }
  // Maps the first chunk of this thread now, not inside a call.
  if (std::uint64_t* first = take(session->number)) *first = 0;
  settings_bits.store(session->number << Settings::kBits | (options.shapes ? Settings::kShapes : 0) |
                          (options.layers ? Settings::kLayers : 0) | (options.memory ? Settings::kMemory : 0),
                      std::memory_order_relaxed);
  pel::detail::piece_tracer.store(&kPieceTracer, std::memory_order_release);
  pel::detail::process_keys.fetch_or(key_bits(options), std::memory_order_release);
  return session;
}

void end_session(Session& session) {
  const std::lock_guard lock(mutex());
  if (active != &session) return;
  pel::detail::process_keys.fetch_and(static_cast<std::uint16_t>(~key_bits(session.options)),
                                      std::memory_order_release);
  pel::detail::piece_tracer.store(nullptr, std::memory_order_relaxed);
  settings_bits.store(0, std::memory_order_relaxed);
  active = nullptr;
  session.ended = Moment::now();
  session.ns_per_tick = ns_per_tick();
}

void free_session(Session& session) {
  end_session(session);
  const std::lock_guard lock(mutex());
  for (ThreadBuffer* buffer : session.buffers) {
    buffer->has_session = false;
    free_chunks(*buffer, buffer->has_thread ? 1 : 0);
    if (!buffer->has_thread) delete buffer;
  }
  session.buffers.clear();
}

}  // namespace pel::profile
