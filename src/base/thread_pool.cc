#include "base/thread_pool.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include <pthread.h>
#include <sched.h>

#include "pellucid/threads.h"

#include "base/check.h"
#include "base/cpu.h"
#include "base/environment.h"
#include "base/processors.h"

namespace pel {
namespace detail {
constinit std::atomic<int> wanted_threads = 0;
constinit thread_local bool inside_piece = false;
constinit thread_local LoopWatcher* loop_watcher = nullptr;
constinit std::atomic<const PieceTracer*> piece_tracer = nullptr;
}  // namespace detail

namespace {

constexpr int kMaxThreads = 1024;
// A worker that wakes late or shares its core holds up the end by about a quarter of its share.
constexpr int kPiecesPerThread = 4;
constexpr double kNsOfShortLoops = 16 * Grain::kUnitNs;  // of loops that wake none, one after the other

int processors() {
  static const int count = available_processors();
  return count;
}

int initial_thread_count() {
  if (const auto count = environment_count("PELLUCID_THREADS", kMaxThreads)) return *count;
  return std::min(available_processors(), kMaxThreads);
}

// ---- Waiting
//
// A thread that waits first spins and then parks. While it spins it sees a change within a microsecond; to
// wake it from parking takes 10 to 25.

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// For the next loop a worker spins this long; less where loops are rare.
constexpr Clock::duration kMinSpin = microseconds(5), kMaxSpin = microseconds(200);
// For the last pieces of its loop the caller spins this long. If the processor of a worker is taken by
// another process, the worker continues on the processor of the caller, once the caller parks.
constexpr Clock::duration kEndSpin = microseconds(50);

// On one processor they would take time from the one that works. On more, a loop uses no more threads than
// there are processors, however many workers there are.
bool threads_spin() { return processors() > 1; }

// Spins until the condition holds; returns false if the time is over. Lets other threads use the processor in
// between.
template <class Condition>
bool spin_for(Clock::duration time, const Condition& condition) {
  const auto holds_soon = [&] {
    for (int i = 0; i < 32; ++i, pause_spinning())
      if (condition()) return true;
    return false;
  };
  if (holds_soon()) return true;
  for (const auto end = Clock::now() + time; Clock::now() < end; sched_yield())
    if (holds_soon()) return true;
  return condition();
}

struct Loop {
  RangeFn f;
  std::int64_t count, grain;
  int pieces;
  std::int64_t grains = count / grain / pieces;  // of a piece; the first `longer` have one more
  std::int64_t longer = count / grain % pieces;
  const detail::PieceTracer* tracer = detail::piece_tracer.load(std::memory_order_acquire);
  const void* caller = tracer == nullptr ? nullptr : tracer->caller();
  std::atomic<bool> failed = false;
  std::exception_ptr error = nullptr;  // of the piece that set `failed`

  void run(int piece) noexcept {
    if (failed.load(std::memory_order_relaxed)) return;
    const std::uint64_t began = tracer == nullptr ? 0 : tracer->now();
    try {
      f(begin_of(piece), end_of(piece));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
    if (tracer != nullptr) tracer->ended(caller, began, begin_of(piece), end_of(piece));
  }

  std::int64_t begin_of(int piece) const {
    return (piece * grains + std::min<std::int64_t>(piece, longer)) * grain;
  }
  std::int64_t end_of(int piece) const { return piece + 1 == pieces ? count : begin_of(piece + 1); }
};

// While in scope, loops of this thread run inline.
class InsidePiece {
 public:
  InsidePiece() : before_(std::exchange(detail::inside_piece, true)) {}
  ~InsidePiece() { detail::inside_piece = before_; }
  InsidePiece(const InsidePiece&) = delete;
  InsidePiece& operator=(const InsidePiece&) = delete;

 private:
  bool before_;
};

// Runs the pieces of a loop by the user's runner. Each call of the body claims pieces until none is left: the
// cuts are those of the pool, and it does not matter on how many threads the runner makes the calls.
void run_by(const ParallelRunner& runner, Loop& loop, int threads) {
  const int calls = std::min(threads, loop.pieces);
  std::atomic<int> next = 0, ended = 0;
  const InsidePiece here;
  runner(calls, [&](int) {
    const InsidePiece there;
    for (int piece = next.fetch_add(1); piece < loop.pieces; piece = next.fetch_add(1)) loop.run(piece);
    ended.fetch_add(1);
  });
  PEL_CHECK(ended.load() == calls, ValueError,
            "the runner of set_parallel_runner returned after {} calls of its body; it must make {}, one for "
            "each index, and wait for them",
            ended.load(), calls);
}

// Threads claim pieces by counting `unclaimed_` down, and only who has claimed a piece looks at the loop: a
// worker that wakes too late finds 0, or takes a piece of the next loop. So the caller never waits for a
// worker to wake, only for pieces that have been claimed, and a loop can live on its caller's stack.
class Pool {
 public:
  // Whether the workers now serve this thread; leave() ends it.
  bool enter() { return !taken_.test_and_set(std::memory_order_acquire); }
  void leave() { taken_.clear(std::memory_order_release); }

  bool has_runner() const { return runner_ != nullptr; }
  // Whether loops that are too short to wake workers follow each other so fast that together they are worth
  // it: the first ones run alone, and then the workers spin. `ns` is the time of one more.
  bool are_short_loops_frequent(double ns) {
    const auto now = Clock::now();
    if (now - last_short_ > kMaxSpin) short_ns_ = 0;
    last_short_ = now;
    short_ns_ += ns;
    if (short_ns_ < kNsOfShortLoops) return false;
    short_ns_ = 0;
    return true;
  }
  // How many workers see a loop at once, because they spin. Those that are not made yet count as parked.
  int hot_workers() const { return workers_.load(std::memory_order_relaxed) - parked_.load(); }

  // Wakes workers so that up to `threads` take part; `all` is how many there are.
  void run(Loop& loop, int threads, int all) {
    if (runner_ != nullptr) return run_by(*runner_, loop, threads);
    fit_workers(all - 1);
    loop_ = &loop;
    unfinished_.store(loop.pieces, std::memory_order_relaxed);
    unclaimed_.store(loop.pieces);
    wake(std::min(threads, loop.pieces) - 1);
    {
      const InsidePiece here;
      unfinished_.fetch_sub(run_pieces());
    }
    if (!threads_spin() || !spin_for(kEndSpin, [this] { return unfinished_.load() == 0; }))
      await_zero(unfinished_);
  }

  // Null: the workers run loops. Only for who entered, as run() is.
  ParallelRunner* exchange_runner(ParallelRunner* runner) {
    survive_fork();
    return std::exchange(runner_, runner);
  }

 private:
  static constexpr int kRetire = -1;

  void work() {
    std::fesetenv(FE_DFL_ENV);  // a thread inherits rounding and flushing from the one that made it
    pthread_setname_np(pthread_self(), "pellucid");
    detail::inside_piece = true;
    Clock::duration patience = kMaxSpin;
    while (true) {
      await_loop(patience);
      // Subtracted at once: until then the loop lives, so all these pieces were of the same one.
      if (const int done = run_pieces(); done != 0 && unfinished_.fetch_sub(done) == done)
        unfinished_.notify_one();
      if (unclaimed_.load() == kRetire) break;
    }
    if (workers_.fetch_sub(1) == 1) workers_.notify_one();
  }

  void await_loop(Clock::duration& patience) {
    if (threads_spin() &&
        spin_for(patience, [this] { return unclaimed_.load(std::memory_order_relaxed) != 0; }))
      return;
    const auto start = Clock::now();
    parked_.fetch_add(1);
    unclaimed_.wait(0);
    parked_.fetch_sub(1);
    patience = Clock::now() - start < kMaxSpin ? kMaxSpin : std::max(kMinSpin, patience / 2);
  }

  // Runs pieces until all are claimed; returns how many it ran.
  int run_pieces() {
    int done = 0;
    int left = unclaimed_.load(std::memory_order_relaxed);
    while (left > 0) {
      // Acquire: the caller wrote the loop before it stored the number of pieces.
      if (!unclaimed_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) continue;
      loop_->run(loop_->pieces - left);
      ++done;
      left = unclaimed_.load(std::memory_order_relaxed);
    }
    return done;
  }

  void wake(int helpers) {
    const int parked = parked_.load(), wanted = helpers - (workers_.load(std::memory_order_relaxed) - parked);
    if (wanted >= parked) return unclaimed_.notify_all();  // no system call if none parks
    for (int i = 0; i < wanted; ++i) unclaimed_.notify_one();
  }

  // To have fewer, all are retired: a worker that should go cannot be told apart from one that parks.
  void fit_workers(int wanted) {
    int have = workers_.load();
    if (have == wanted) return;
    if (have > wanted) {
      unclaimed_.store(kRetire);
      unclaimed_.notify_all();
      await_zero(workers_);
      unclaimed_.store(0);
      have = 0;
    }
    survive_fork();
    try {
      for (; have < wanted; ++have) {
        workers_.fetch_add(1);
        std::thread([this] { work(); }).detach();
      }
    } catch (const std::exception& error) {
      workers_.fetch_sub(1);
      log_line("threads",
               fmt::format("using {} threads instead of {}: {}", have + 1, wanted + 1, error.what()));
      int asked = wanted + 1;
      detail::wanted_threads.compare_exchange_strong(asked, have + 1);
    }
  }

  static void await_zero(std::atomic<int>& number) {
    for (int now = number.load(); now != 0; now = number.load()) number.wait(now);
  }
  static void survive_fork();

  std::atomic_flag taken_;
  ParallelRunner* runner_ = nullptr;             // for those who entered
  Loop* loop_ = nullptr;                         // for those who have claimed a piece
  Clock::time_point last_short_{};               // a loop that ran alone; both for those who entered
  double short_ns_ = 0;                          // of such loops
  std::atomic<int> workers_ = 0;                 // made and not ended; only who entered adds
  std::atomic<int> parked_ = 0;                  // or about to park
  alignas(64) std::atomic<int> unclaimed_ = 0;   // pieces, or kRetire; workers park on 0
  alignas(64) std::atomic<int> unfinished_ = 0;  // pieces
};

// Never destroyed: workers stay parked on it while the process ends.
static_assert(std::is_trivially_destructible_v<Pool>);
constinit Pool pool;

// A child has none of its parent's threads, and those of a runner are lost too: it starts with an empty pool.
void Pool::survive_fork() {
  static constinit bool done = false;  // read and written by who entered
  if (done) return;
  pthread_atfork(nullptr, nullptr, [] { new (&pool) Pool; });
  done = true;
}

}  // namespace

int thread_count() {
  const int wanted = detail::wanted_threads.load(std::memory_order_relaxed);
  if (wanted != 0) [[likely]]
    return wanted;
  static const int initial = initial_thread_count();
  int unset = 0;
  detail::wanted_threads.compare_exchange_strong(unset, initial);
  return unset == 0 ? initial : unset;
}

// Not by as_call: the call stack is the runtime's, and the doctor links this file without it.
void set_thread_count(int count, Site site) try {
  PEL_CHECK(count >= 1 && count <= kMaxThreads, ValueError, "count is {}; it must be from 1 to {}", count,
            kMaxThreads);
  detail::wanted_threads.store(count, std::memory_order_relaxed);
} catch (Error& error) {
  error.leave_call("set_thread_count", site);
  throw;
}

void set_parallel_runner(ParallelRunner runner, Site site) try {
  PEL_CHECK(
      !detail::inside_piece, ValueError,
      "it was called inside a parallel loop, which runs by the present runner; call it between kernels");
  auto next = runner ? std::make_unique<ParallelRunner>(std::move(runner)) : nullptr;
  while (!pool.enter()) std::this_thread::yield();  // until a loop of another thread ends
  const std::unique_ptr<ParallelRunner> previous(pool.exchange_runner(next.release()));
  pool.leave();
} catch (Error& error) {
  error.leave_call("set_parallel_runner", site);
  throw;
}

LoopSplit split_of(std::int64_t count, Grain grain, int all, int awake) {
  const std::int64_t grains = count / grain.elements;
  const double ns = grain.nanoseconds(grains * grain.elements);
  const auto worth = [&](double of_each, int max) {
    return static_cast<int>(std::min(ns / of_each, static_cast<double>(max)));
  };
  const std::int64_t threads = std::max<std::int64_t>(
      1, std::min<std::int64_t>({grains, all, std::max(worth(kNsToJoin, awake + 1), worth(kNsToWake, all))}));
  return {static_cast<int>(threads),
          threads == 1 ? 1 : static_cast<int>(std::min(grains, threads * kPiecesPerThread))};
}

int usable_threads() { return std::min(thread_count(), std::max(2, processors())); }

namespace {

// For watchers of the cuts.
void run_watched(detail::LoopWatcher& watcher, Loop loop) {
  const InsidePiece here;
  for (int piece = 0; piece < loop.pieces; ++piece) {
    loop.f(loop.begin_of(piece), loop.end_of(piece));
    watcher.piece_ended(loop.begin_of(piece), loop.end_of(piece));
  }
}

void tell_watcher(std::int64_t count, Grain grain, LoopSplit split) {
  if (detail::loop_watcher != nullptr) [[unlikely]]
    detail::loop_watcher->loop(count, grain, split);
}

}  // namespace

void detail::run_on_threads(std::int64_t count, Grain grain, RangeFn f) {
  PEL_ASSERT(grain.elements > 0, "a piece has elements");
  const int all = thread_count();
  if (loop_watcher != nullptr && loop_watcher->takes_pieces()) [[unlikely]] {
    const LoopSplit split = split_of(count, grain, all, all - 1);
    loop_watcher->loop(count, grain, split);
    return run_watched(*loop_watcher, Loop{f, count, grain.elements, split.pieces});
  }
  if (all == 1 || !pool.enter()) {
    tell_watcher(count, grain, {1, 1});
    return f(0, count);
  }
  struct Leave {
    ~Leave() { pool.leave(); }
  };
  std::optional<Leave> leave(std::in_place);  // also if a runner throws
  const int usable = usable_threads();
  LoopSplit split = split_of(count, grain, usable, pool.has_runner() ? 0 : pool.hot_workers());
  if (split.threads == 1 && !pool.has_runner() && pool.are_short_loops_frequent(grain.nanoseconds(count)))
    split = split_of(count, grain, usable, usable - 1);
  tell_watcher(count, grain, split);
  if (split.threads == 1) {
    leave.reset();
    return f(0, count);
  }
  Loop loop{f, count, grain.elements, split.pieces};
  pool.run(loop, split.threads, all);
  leave.reset();
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace pel
