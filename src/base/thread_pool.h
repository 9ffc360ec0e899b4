// Loops over several threads. The threads are made by the first loop that needs them and wait between
// loops: they spin for a short time, then park.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/function_ref.h"

namespace pel {

using RangeFn = FunctionRef<void(std::int64_t begin, std::int64_t end)>;

namespace detail {
extern constinit std::atomic<int> wanted_threads;  // 0 until someone asks for the number
extern constinit thread_local bool inside_piece;
}  // namespace detail

// The least work of a piece of a loop: so many elements, which take `time` units of 2 to 3 µs.
struct Grain {
  // NOLINTNEXTLINE(google-explicit-constructor): most grains take one unit
  constexpr Grain(std::int64_t grain_elements, std::int64_t grain_time = 1)
      : elements(grain_elements), time(grain_time) {}

  // For elements of cost `each`, where a cost of `unit` takes 2 to 3 µs.
  static constexpr Grain of(std::int64_t unit, std::int64_t each) {
    return each < unit ? Grain(unit / (each > 0 ? each : 1)) : Grain(1, each / unit);
  }
  // For elements that all are worth a thread; how long they take is not known.
  static constexpr Grain whole() { return {1, kWhole}; }
  constexpr bool is_whole() const { return time == kWhole; }

  // About the time of `count` elements on one thread, in nanoseconds.
  constexpr double nanoseconds(std::int64_t count) const {
    return static_cast<double>(count) / static_cast<double>(elements) * static_cast<double>(time) * kUnitNs;
  }
  static constexpr double kUnitNs = 2500;
  static constexpr std::int64_t kWhole = 1 << 20;

  std::int64_t elements, time;
};

// What the share of a worker must be worth to wake it if it parks, and to use it if it spins: it also moves
// what it reads and writes from one processor's cache to another's.
inline constexpr double kNsToWake = 4 * Grain::kUnitNs, kNsToJoin = 2 * Grain::kUnitNs;

// What the pool decides for a loop.
struct LoopSplit {
  int threads, pieces;
};
// For `all` threads, usable_threads() as a rule, of which `awake` workers spin and see the loop at once.
// Loops in quick succession that are too short to wake workers are an exception: together they do.
LoopSplit split_of(std::int64_t count, Grain grain, int all, int awake);
// How many threads may run a loop: thread_count(), but not more than there are processors, or two: others
// would take turns, and to wake one costs as much as if it ran at the same time.
int usable_threads();

namespace detail {
void run_on_threads(std::int64_t count, Grain grain, RangeFn f);

// Sees the loops of the thread that sets it that could have two pieces or more.
class LoopWatcher {
 public:
  virtual ~LoopWatcher() = default;
  // `split` is what the pool has decided; how many threads come in time is not known yet.
  virtual void loop(std::int64_t count, Grain grain, LoopSplit split) = 0;
  // True, for tests of the cuts: the pieces run on this thread, one after the other, cut as for
  // thread_count() threads that all are awake.
  virtual bool takes_pieces() const { return false; }
  virtual void piece_ended(std::int64_t /*begin*/, std::int64_t /*end*/) {}
};
extern constinit thread_local LoopWatcher* loop_watcher;

// Sees the pieces of all loops on several threads, each on the thread that runs it: the profiler's, while it
// records.
struct PieceTracer {
  const void* (*caller)();  // on the thread that calls the loop: it is passed to `ended`
  std::uint64_t (*now)();
  void (*ended)(const void* caller, std::uint64_t began, std::int64_t begin, std::int64_t end);
};
extern constinit std::atomic<const PieceTracer*> piece_tracer;
}  // namespace detail

// Calls f(begin, end) for pieces that together are [0, count), on this thread and on workers; returns when
// all have ended. Every piece begins at a multiple of the grain's elements and has at least that many, unless
// `count` itself is less; they are positive. Where the range is cut depends on the number of threads and on
// whether the workers are free: a caller whose result must not differ makes it independent of the cuts.
//
// A worker that waited for less than 200 µs joins within 1 µs. Others park: to wake one costs the caller
// about 1 µs, and it joins 10 to 25 µs later, so short loops do not wake them.
//
// f runs once, with all of [0, count), on this thread if there is one piece or one thread, if the loop is too
// short to wake a worker, inside a piece of another loop, or while the workers serve the loop of another
// thread. For count 0 it is not called.
//
// The first exception of a piece is thrown again here, after all pieces have ended; pieces not begun by then
// are left out. A child forked inside a piece must not return from it; otherwise a child has workers of its
// own.
inline void parallel_for(std::int64_t count, Grain grain, RangeFn f) {
  if (count - grain.elements >= grain.elements &&
      detail::wanted_threads.load(std::memory_order_relaxed) != 1 && !detail::inside_piece) {
    detail::run_on_threads(count, grain, f);
  } else if (count > 0) {
    f(0, count);
  }
}

}  // namespace pel
