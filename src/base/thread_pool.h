// Loops over several threads. The threads are made by the first loop that needs them and park between loops.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/function_ref.h"

namespace pel {

using RangeFn = FunctionRef<void(std::int64_t begin, std::int64_t end)>;

namespace detail {
extern constinit std::atomic<int> wanted_threads;  // 0 until someone asks for the number
extern constinit thread_local bool inside_piece;
void run_on_threads(std::int64_t count, std::int64_t grain, RangeFn f);
}  // namespace detail

// Calls f(begin, end) for pieces that together are [0, count), on this thread and on workers; returns when
// all have ended. Every piece begins at a multiple of `grain` and has at least `grain` elements, unless
// `count` itself has fewer; grain is positive. Where the range is cut depends on the number of threads and on
// whether the workers are free: a caller whose result must not differ makes it independent of the cuts.
//
// Choose a grain worth 10 µs or more: waking a worker costs the caller about 1 µs, and it joins 10 to 25 µs
// later (2 virtual cores under load); until then the caller runs alone.
//
// f runs once, with all of [0, count), on this thread if there is one piece or one thread, inside a piece of
// another loop, or while the workers serve the loop of another thread. For count 0 it is not called.
//
// The first exception of a piece is thrown again here, after all pieces have ended; pieces not begun by then
// are left out. A child forked inside a piece must not return from it; otherwise a child has workers of its
// own.
inline void parallel_for(std::int64_t count, std::int64_t grain, RangeFn f) {
  if (count - grain >= grain && detail::wanted_threads.load(std::memory_order_relaxed) != 1 &&
      !detail::inside_piece) {
    detail::run_on_threads(count, grain, f);
  } else if (count > 0) {
    f(0, count);
  }
}

}  // namespace pel
